// Prices against cost, losers first; what providers counted that has no price; models that retire.
import { lessOf } from "../../money.ts";
import { html } from "../html.ts";
import { Refused, withQuery } from "../kit/ask.ts";
import { DAY_MS, dayOf } from "../kit/days.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, money, pill, rowsOf, table } from "../kit/shown.ts";
import type { Usage } from "./answers.ts";

const PATH = "/console/prices";
const DAYS = 7;

interface Prices {
  readonly losses: readonly {
    readonly provider: string;
    readonly model: string;
    readonly charged_usd: number;
    readonly upstream_usd: number;
    readonly percent: number;
    readonly rests: boolean;
  }[];
  readonly unpriced: readonly { readonly provider: string; readonly counter: string; readonly answers: number }[];
}
interface Models {
  readonly models: readonly {
    readonly model: string;
    readonly until: string | null;
    readonly providers: readonly string[];
  }[];
}

export function pricesSection(epochMs: () => number): Section {
  return {
    path: PATH,
    place: PATH,
    async show({ ask }) {
      const prices = await ask<Prices>("GET", "/admin/v1/prices");
      if (prices instanceof Refused) return prices;
      const from = dayOf(epochMs() - DAYS * DAY_MS);
      const sold = await ask<Usage>("GET", withQuery("/admin/v1/usage", { by: "model,provider", from, limit: "1000" }));
      if (sold instanceof Refused) return sold;
      const listed = await ask<Models>("GET", "/admin/v1/models");
      if (listed instanceof Refused) return listed;
      const lines = sold.usage
        .map((line) => ({ ...line, margin: lessOf(line.charged_nano_usd, line.upstream_nano_usd) }))
        .toSorted((a, b) => Number(a.margin) - Number(b.margin))
        .slice(0, 100);
      const columns = [
        { name: "Model or action" },
        { name: "Calls", kind: "num desk" },
        { name: "Charged", kind: "num" },
        { name: "Cost", kind: "num" },
        { name: "Margin", kind: "num" },
      ];
      const rows = rowsOf(lines, (line) => [
        html`<span class="name">${line.model ?? "other"}</span><br><span class="soft">${line.provider ?? ""}</span>`,
        count(line.calls),
        money(line.charged_nano_usd),
        money(line.upstream_nano_usd),
        Number(line.margin) < 0 ? html`${pill("loses", "bad")} ${money(line.margin)}` : money(line.margin),
      ]);
      const lost = prices.losses.map(({ provider, model, percent, rests }) => [
        model,
        provider,
        `${percent} %`,
        rests ? pill("rests until midnight", "warn") : "",
      ]);
      const unpriced = prices.unpriced.map(({ provider, counter, answers }) => [provider, counter, count(answers)]);
      const ends = listed.models
        .filter(({ until }) => until !== null)
        .toSorted((a, b) => ((a.until ?? "") < (b.until ?? "") ? -1 : 1))
        .map(({ model, until, providers }) => [until ?? "", model, providers.join(", ") || "no provider that is on"]);
      return {
        title: "Prices against cost",
        body: html`${card(`Margin of ${DAYS} days, losers first`, table("Margins", columns, { rows, none: "Nothing was sold in this time." }))}
<div class="grid">${card("Lost today, by the vendor's own word", table("Losses", [{ name: "Model" }, { name: "Provider" }, { name: "Above its price" }, { name: "State" }], { rows: lost, none: "Nothing was sold below its cost." }))}
${card("Counted without a price", table("Unpriced", [{ name: "Provider" }, { name: "What" }, { name: "Answers", kind: "num" }], { rows: unpriced, none: "Providers counted nothing that has no price." }))}</div>
${card("Models that retire", table("Ends", [{ name: "On" }, { name: "Model" }, { name: "Served by" }], { rows: ends, none: "No model that is sold is known to end." }))}`,
      };
    },
  };
}

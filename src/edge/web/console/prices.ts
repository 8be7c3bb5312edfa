// Prices and margins, losses first; provider counters without a price; models that retire soon.
import { type Html, html } from "../html.ts";
import { type Ask, withQuery } from "../kit/ask.ts";
import { DAY_MS, dayOf } from "../kit/days.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, money, pill, rowsOf, table } from "../kit/shown.ts";
import type { Usage } from "./answers.ts";

const PATH = "/console/prices";
const DAYS = 7;
const MARGINS_BY = ["provider", "model", "model,provider"];

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

async function marginsBy(ask: Ask, by: string, from: string): Promise<Html> {
  const sold = await ask<Usage>("GET", withQuery("/admin/v1/usage", { by, from, limit: "1000" }));
  const lines = sold.usage.toSorted((a, b) => Number(a.margin_nano_usd) - Number(b.margin_nano_usd)).slice(0, 100);
  const columns = ["Of", "Calls|num large", "Charged|num", "Cost|num", "Margin|num"];
  const rows = rowsOf(lines, ({ model, provider, calls, margin_nano_usd: margin, ...line }) => [
    html`<span class="name">${model ?? provider ?? "other"}</span><br><span class="soft">${model == null ? "" : (provider ?? "")}</span>`,
    count(calls),
    money(line.charged_nano_usd),
    money(line.upstream_nano_usd),
    Number(margin) < 0 ? html`${pill("loses", "bad")} ${money(margin)}` : money(margin),
  ]);
  const title = `Margin by ${by.replace(",", " and ")}`;
  return card(title, table(title, columns, { rows, none: "Nothing was sold in this time." }));
}

export function pricesSection(epochMs: () => number): Section {
  return {
    path: PATH,
    place: PATH,
    async show({ ask }) {
      const prices = await ask<Prices>("GET", "/admin/v1/prices");
      const from = dayOf(epochMs() - DAYS * DAY_MS);
      const margins = await Promise.all(MARGINS_BY.map((by) => marginsBy(ask, by, from)));
      const listed = await ask<Models>("GET", "/admin/v1/models");
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
        title: "Prices and margin",
        body: html`<p class="lead">Margins are what was charged in ${DAYS} days less what it cost us, the losers first.</p>${margins}
<div class="grid">${card("Lost today, by the provider's own figures", table("Losses", ["Model", "Provider", "Loss", "State"], { rows: lost, none: "Nothing was sold below cost." }))}
${card("Usage without a price", table("Unpriced", ["Provider", "What", "Answers|num"], { rows: unpriced, none: "All usage has a price." }))}</div>
${card("Retiring models", table("Ends", ["On", "Model", "Served by"], { rows: ends, none: "No model is about to retire." }))}`,
      };
    },
  };
}

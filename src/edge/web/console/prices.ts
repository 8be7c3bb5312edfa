// Prices and margins, losses first; provider counters without a price; models that retire soon.
import type { SoldRow } from "../../../catalog/updates/rows.ts";
import { type Html, html } from "../html.ts";
import type { Ask } from "../kit/ask.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, DAY_MS, dayOf, money, pill, tableOf } from "../kit/shown.ts";
import { usageOf } from "../spending.ts";
import type { OperatorLine } from "./accounts.ts";

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

async function marginsBy(ask: Ask, by: string, from: string): Promise<Html> {
  const sold = await usageOf<OperatorLine>(ask, "/admin/v1/usage", { by, from, limit: "1000" });
  const lines = sold.toSorted((a, b) => Number(a.margin_nano_usd) - Number(b.margin_nano_usd)).slice(0, 100);
  const title = `Margin by ${by.replace(",", " and ")}`;
  const margins = tableOf(title, lines, "Nothing was sold in this time.", {
    Of: ({ model, provider }) =>
      html`<span class="name">${model ?? provider ?? "other"}</span><br><span class="soft">${model == null ? "" : (provider ?? "")}</span>`,
    "Calls|num large": ({ calls }) => count(calls),
    "Charged|num": (line) => money(line.charged_nano_usd),
    "Cost|num": (line) => money(line.upstream_nano_usd),
    "Margin|num": ({ margin_nano_usd: margin }) =>
      html`${Number(margin) < 0 ? pill("loses", "bad") : ""} ${money(margin)}`,
  });
  return card(title, margins);
}

export function pricesSection(epochMs: () => number): Section {
  return {
    path: PATH,
    async show({ ask }) {
      const prices = await ask<Prices>("GET", "/admin/v1/prices");
      const from = dayOf(epochMs() - DAYS * DAY_MS);
      const margins = await Promise.all(MARGINS_BY.map((by) => marginsBy(ask, by, from)));
      const listed = await ask<{ models: readonly SoldRow[] }>("GET", "/admin/v1/models");
      const lost = tableOf("Losses", prices.losses, "Nothing was sold below cost.", {
        Model: ({ model }) => model,
        Provider: ({ provider }) => provider,
        Loss: ({ percent }) => `${percent} %`,
        State: ({ rests }) => (rests ? pill("rests until midnight", "warn") : ""),
      });
      const unpriced = tableOf("Unpriced", prices.unpriced, "All usage has a price.", {
        Provider: ({ provider }) => provider,
        What: ({ counter }) => counter,
        "Answers|num": ({ answers }) => count(answers),
      });
      const retiring = listed.models
        .flatMap(({ until, ...model }) => (until === null ? [] : [{ ...model, until }]))
        .toSorted((a, b) => (a.until < b.until ? -1 : 1));
      const ends = tableOf("Retiring models", retiring, "No model is about to retire.", {
        On: ({ until }) => until,
        Model: ({ model }) => model,
        "Served by": ({ providers }) => providers.join(", ") || "no provider that is on",
      });
      return {
        title: "Prices and margin",
        body: html`<p class="lead">Margins are what was charged in ${DAYS} days less what it cost us, the losers first.</p>${margins}
<div class="grid">${card("Lost today, by the provider's own figures", lost)}${card("Usage without a price", unpriced)}</div>${card("Retiring models", ends)}`,
      };
    },
  };
}

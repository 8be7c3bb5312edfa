// The details of a catalog entry: its price, its params, and a call to copy.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { type Descriptor, rowPrice } from "../../actions/run/descriptor.ts";
import { type TableOf, tableOf } from "../../actions/run/params-schema.ts";
import { EVERYBODY, type TokenPrice, type TokenRates } from "../../catalog/catalog.ts";
import { modelFacts } from "../../catalog/model-facts.ts";
import { timeText } from "../../catalog/price-answers.ts";
import { usdPerMillionText } from "../../core/money.ts";
import { rowOf } from "./catalog-entry.ts";
import {
  aligned,
  MEASURED_COLUMNS,
  type Measured,
  measuredCells,
  modelTable,
  type Sold,
  type TableParts,
} from "./catalog-models.ts";
import type { Shell, Site } from "./catalog-page.ts";
import { type Html, html, type Put } from "./html.ts";
import { withQuery } from "./kit/ask.ts";
import { sparkline } from "./kit/charts.ts";
import { callBox, count, facts as factsHtml, pill, table } from "./kit/shown.ts";
import { logo } from "./logos.ts";
import { type TierShown, tiersShown } from "./tiers-shown.ts";
import { curl, fullPriceWords, paramsShown } from "./words.ts";

/** The button that tries it, and the same call as a command. */
function calls({ pages, publicUrl }: Site, query: Readonly<Record<string, string>>, path: string, body: unknown): Html {
  const link = html`<p><a class="button" href="${withQuery("/try", query)}">Try it</a></p>`;
  return html`${pages ? link : ""}${callBox(curl(`${publicUrl}${path}`, body))}`;
}

type Fact = readonly [name: string, value: Put];
const facts = (all: readonly (Fact | null)[]) => factsHtml(all.filter((one) => one !== null));

/** The note on an entry that no configured provider serves. */
function offFact(configured: boolean, { sandbox }: Site, note?: string) {
  if (configured) return null;
  const who = sandbox ? " Sandbox keys can call it." : "";
  return ["Status", `not configured here: ${note ?? "the operator has set no key for it"}.${who}`] as const;
}

function paramsTable({ params, table: rows }: Descriptor): Html {
  const columns = ["Param", "Type", "Notes"];
  const shown = paramsShown(params).map(({ name, required, type, notes }) => [
    html`<code>${name}</code>${required ? html` ${pill("required")}` : ""}`,
    type,
    notes,
  ]);
  const more = rows === undefined ? "" : html`<p>${rows.note}</p>`;
  return html`${table("Params", columns, shown, "It has no params.")}${more}`;
}

function tableRows(action: CatalogAction, { param, rows, count: all }: TableOf): Html {
  const shown = Object.entries(rows).map(([name, row]) => [
    html`<a class="row" href="/catalog/actions/${action.id}?${param}=${encodeURIComponent(name)}"><code>${name}</code></a>`,
    row.summary,
    fullPriceWords(rowPrice(row, action.facts.price)),
  ]);
  const list = table(`Values of ${param}`, [param, "What it does", "Price"], shown, "");
  return html`<details><summary>${all} values of <code>${param}</code></summary>${list}</details>`;
}

/** The page of an action, or of the row of its table with this name. */
export function actionDetails(action: CatalogAction, named: string | null, site: Site): Shell {
  const { name, row, shown } = rowOf(action, named);
  const table = named === null ? tableOf(action) : null;
  const all = facts([
    ["Endpoint", html`<code>POST ${shown.endpoint}</code>`],
    ["Price", fullPriceWords(shown.price)],
    ["Effect", shown.effect === "read" ? "reads only" : "starts or changes something"],
    shown.deprecated === undefined ? null : ["Retires", shown.deprecated.sunset],
    offFact(action.configured, site, shown.status_note),
  ]);
  const tries = calls(site, { action: action.id, ...row }, shown.endpoint, shown.example);
  const body = html`${all}${tries}${paramsTable(shown)}${table === null ? "" : tableRows(action, table)}`;
  return { title: name, description: shown.description, body };
}

/** A model's rates, one line per threshold of prompt length. */
function ratesTable(sale: TokenPrice, kind: "chat" | "embeddings"): Html {
  const columns: readonly (readonly [name: string, rate: keyof TokenRates])[] =
    kind === "embeddings"
      ? [["Input", "input"]]
      : [
          ["Input", "input"],
          ["Cached input", "cacheRead"],
          ["Cache write", "cacheWrite"],
          ["Output", "output"],
        ];
  const lengths = sale.steps.map(({ promptTokens }) => promptTokens.toLocaleString("en-US"));
  const steps = [sale, ...sale.steps].map((rates, at) => {
    const words = at === 0 ? `Prompts up to ${lengths[0]} tokens` : `Prompts above ${lengths[at - 1]} tokens`;
    return { rates, words: lengths.length === 0 ? "Any prompt" : words };
  });
  const hours = sale.hours.map(({ fromMinute, untilMinute, weekdaysOnly, price }) => ({
    rates: price,
    words: `${timeText(fromMinute)} to ${timeText(untilMinute)} UTC${weekdaysOnly ? ", Monday to Friday" : ""}`,
  }));
  const lines = [...steps, ...hours];
  const prices = columns.map(([, rate]) => aligned(lines.map(({ rates }) => usdPerMillionText(rates[rate]))));
  const heads = ["USD per million tokens", ...columns.map(([name]) => `${name}|num`)];
  const rows = lines.map(({ words }, at) => [
    words,
    ...prices.map((of) => html`<span class="money">${of[at] ?? ""}</span>`),
  ]);
  return table("Prices", heads, rows, "");
}

const HELLO = [{ role: "user", content: "Hello" }];

function modelCalls(model: string, kind: "chat" | "embeddings", site: Site): Html {
  const chat = { model, messages: HELLO };
  return kind === "chat"
    ? calls(site, { model }, "/api/llm/v1/chat/completions", chat)
    : calls({ ...site, pages: false }, {}, "/api/llm/v1/embeddings", { model, input: "The text to embed" });
}

/** The providers of a model here, in the order in which they are tried, with what was measured of each. */
function providersTable({ slug, offers }: Sold, measured: Measured): Html {
  const columns = ["Provider", ...MEASURED_COLUMNS, "Attempts|num"];
  const names = new Map(offers.map(({ adapter }) => [adapter.id, adapter.spec.name]));
  const rows = [...names].map(([id, name]) => {
    const sums = measured.attempts(slug, id);
    return [html`${logo(id)} ${name}`, ...measuredCells(sums), count(sums.calls)];
  });
  const none = "No provider that is configured here serves it.";
  return html`<h2>Providers in order, as measured here in thirty days</h2>${table("Providers", columns, rows, none)}`;
}

type ModelParts = { readonly site: Site } & TableParts;

export function modelDetails(model: Sold, { catalog, measured, site }: ModelParts): Shell {
  const { slug, kind, sale, contextTokens, outputTokensMax, offers } = model;
  const tiers = tiersShown(catalog, EVERYBODY).filter(({ models }) => models.some((one) => one.slug === slug));
  const { architecture, supported_parameters: fields } = modelFacts(model, catalog);
  const daily = measured.daily(slug);
  const days = daily.some((calls) => calls > 0) ? html`<h2>Calls a day</h2>${sparkline(daily)}` : "";
  const all = facts([
    ["Context", `${count(contextTokens)} tokens`],
    outputTokensMax === null || kind !== "chat" ? null : ["Answer", `up to ${count(outputTokensMax)} tokens`],
    ["Takes", architecture.input_modalities.join(", ")],
    ["Gives", architecture.output_modalities.join(", ")],
    ["Fields", fields.join(", ")],
    ["Prices since", sale.since],
    tiers.length === 0
      ? null
      : ["Tiers", tiers.map(({ tier }) => html`<a href="/catalog/tiers/${tier.id}">core/${tier.id}</a> `)],
    offFact(offers.length > 0, site),
  ]);
  return {
    title: slug,
    description: `${kind === "chat" ? "A language model" : "An embedding model"} of ${slug.split("/")[0]}, by the token.`,
    body: html`${all}${modelCalls(slug, kind, site)}<h2>Prices</h2>${ratesTable(sale, kind)}${providersTable(model, measured)}${days}`,
  };
}

function perMillionWords({ input, output }: TokenRates): string {
  return `$${usdPerMillionText(input)} in, $${usdPerMillionText(output)} out per million tokens`;
}

export function tierDetails({ tier, models, configured, listed }: TierShown, parts: ModelParts): Shell {
  const { site } = parts;
  const all = facts([
    ["Tries", `these in order, as far as they are configured: ${configured} of ${models.length}`],
    ["Cost", "what the model that answers costs"],
    listed && ["First choice", `${listed.first.slug}: ${perMillionWords(listed.first.sale)}`],
    listed && ["At most", perMillionWords(listed.priceMax)],
    offFact(configured > 0, site),
  ]);
  return {
    title: `core/${tier.id}`,
    description: tier.purpose,
    body: html`${all}${modelCalls(`core/${tier.id}`, "chat", site)}${modelTable(models, parts)}`,
  };
}

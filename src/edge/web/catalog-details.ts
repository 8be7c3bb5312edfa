// The details of a catalog entry: its price, its params, and a call to copy.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { type Descriptor, descriptorOf, rowDescriptor, rowPrice } from "../../actions/run/descriptor.ts";
import { type TableOf, tableOf } from "../../actions/run/params-schema.ts";
import type { SoldEmbedding, SoldModel, TokenPrice, TokenRates } from "../../catalog/catalog.ts";
import { timeText } from "../../catalog/price-answers.ts";
import { usdPerMillionText } from "../../core/money.ts";
import { fractionClass, moneyHtml, usdMoney } from "./aligned-money.ts";
import { tokensShown } from "./catalog-entry.ts";
import { type Html, html } from "./html.ts";
import type { TierShown } from "./tiers-shown.ts";
import { curl, fullPriceWords, paramsShown } from "./words.ts";

/** What the page needs to know of its gateway. */
export interface Site {
  /** Our public URL, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether there are sandbox accounts. */
  readonly sandbox: boolean;
  /** Whether sign-up is open to the public. */
  readonly signup: boolean;
}

function fact(name: string, value: Html | string): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function facts(all: readonly (readonly [name: string, value: Html | string] | null)[]): Html {
  return html`<dl class="facts">${all.filter((one) => one !== null).map(([name, value]) => fact(name, value))}</dl>`;
}

export function callBox(text: string): Html {
  return html`<div class="call"><pre tabindex="0"><code>${text}</code></pre></div>`;
}

/** The note on an entry that no configured provider serves. */
function offFact(configured: boolean, { sandbox }: Site, note?: string) {
  if (configured) return null;
  const who = sandbox ? " Sandbox keys can call it." : "";
  return ["Status", `not configured here: ${note ?? "the operator has set no key for it"}.${who}`] as const;
}

function paramsTable({ params, table }: Descriptor): Html {
  const rows = paramsShown(params).map(
    ({ name, required, type, notes }) =>
      html`<tr><td><code>${name}</code>${required ? html` <span class="must">required</span>` : ""}</td><td class="type">${type}</td><td>${notes}</td></tr>`,
  );
  const more = table === undefined ? "" : html`<p>${table.note}</p>`;
  if (rows.length === 0) return html`<p>It has no params.</p>${more}`;
  return html`<table class="params"><thead><tr><th>Param</th><th>Type</th><th>Notes</th></tr></thead><tbody>${rows}</tbody></table>${more}`;
}

function tableRows(action: CatalogAction, { param, rows, count }: TableOf): Html {
  const items = Object.entries(rows).map(
    ([name, row]) =>
      html`<li><a href="/catalog/actions/${action.id}?${param}=${encodeURIComponent(name)}"><code>${name}</code></a><span>${row.summary}</span>${fullPriceWords(rowPrice(row, action.facts.price))}</li>`,
  );
  return html`<details class="rows"><summary>${count} values of <code>${param}</code></summary><ul>${items}</ul></details>`;
}

function described(shown: Descriptor, action: CatalogAction, site: Site): Html {
  return html`${facts([
    ["Endpoint", html`<code>POST ${shown.endpoint}</code>`],
    ["Price", fullPriceWords(shown.price)],
    ["Effect", shown.effect === "read" ? "reads only" : "starts or changes something"],
    shown.deprecated === undefined ? null : ["Retires", shown.deprecated.sunset],
    offFact(action.configured, site, shown.status_note),
  ])}${callBox(curl(`${site.publicUrl}${shown.endpoint}`, shown.example))}${paramsTable(shown)}`;
}

/** An action, or the row of its table with this name. */
export function actionDetails(action: CatalogAction, row: string | null, site: Site) {
  const shown = (row === null ? null : rowDescriptor(action, row)) ?? descriptorOf(action);
  const table = row === null ? tableOf(action) : null;
  const rows = table === null ? "" : tableRows(action, table);
  const title = row === null ? action.id : `${action.id} ${row}`;
  return { title, description: shown.description, body: html`${described(shown, action, site)}${rows}` };
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
  const lengths = sale.steps.map(({ promptTokens }) => promptTokens);
  const words = (at: number) =>
    at === 0 ? `up to ${lengths[0]?.toLocaleString("en-US")}` : `above ${lengths[at - 1]?.toLocaleString("en-US")}`;
  const lines = [sale, ...sale.steps];
  const head = columns.map(([name]) => html`<th class="money">${name}</th>`);
  const rows = lines.map((rates, at) => {
    const cells = columns.map(([, rate]) => html`<td class="money">${moneyHtml(usdMoney(rates[rate]))}</td>`);
    return html`<tr><th>${lengths.length === 0 ? "Any prompt" : `Prompts ${words(at)} tokens`}</th>${cells}</tr>`;
  });
  for (const { fromMinute, untilMinute, weekdaysOnly, price } of sale.hours) {
    const cells = columns.map(([, rate]) => html`<td class="money">${moneyHtml(usdMoney(price[rate]))}</td>`);
    const days = weekdaysOnly ? ", Monday to Friday" : "";
    rows.push(html`<tr><th>${timeText(fromMinute)} to ${timeText(untilMinute)} UTC${days}</th>${cells}</tr>`);
  }
  const all = [...lines, ...sale.hours.map(({ price }) => price)].flatMap((rates) =>
    columns.map(([, rate]) => usdMoney(rates[rate])),
  );
  return html`<div class="scroll"><table class="rates ${fractionClass(all)}"><thead><tr><th>USD per million tokens</th>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

const HELLO = [{ role: "user", content: "Hello" }];

/** A call of a model or a tier. */
function modelCall(model: string, kind: "chat" | "embeddings", { publicUrl }: Site): Html {
  const [path, body] =
    kind === "chat"
      ? ["chat/completions", { model, messages: HELLO }]
      : ["embeddings", { model, input: "The text to embed" }];
  return callBox(curl(`${publicUrl}/api/llm/v1/${path}`, body));
}

/** The providers that serve a model here, in the order in which they are tried. */
function servedBy(offers: SoldModel["offers"] | SoldEmbedding["offers"]): string {
  return [...new Set(offers.map(({ adapter }) => adapter.spec.name))].join(", then ");
}

export function modelDetails(model: SoldModel | SoldEmbedding, tiers: readonly TierShown[], site: Site): Html {
  const { slug, kind, sale, contextTokens, outputTokensMax, offers } = model;
  const within = tiers.filter(({ models }) => models.some((one) => one.slug === slug));
  return html`${facts([
    ["Kind", kind],
    ["Context", `${contextTokens.toLocaleString("en-US")} tokens`],
    outputTokensMax === null || kind !== "chat"
      ? null
      : ["Answer", `up to ${outputTokensMax.toLocaleString("en-US")} tokens`],
    ["Prices since", sale.since],
    offers.length === 0 ? null : ["Served by", servedBy(offers)],
    within.length === 0 ? null : ["Tiers", within.map(({ tier }) => `core/${tier.id}`).join(", ")],
    offFact(offers.length > 0, site),
  ])}${ratesTable(sale, kind)}${modelCall(slug, kind, site)}`;
}

/** The prices of a million input and output tokens, as text. */
function perMillionWords({ input, output }: TokenRates): string {
  return `$${usdPerMillionText(input)} in, $${usdPerMillionText(output)} out per million tokens`;
}

export function tierDetails({ tier, models, configured, listed }: TierShown, site: Site): Html {
  const rows = models.map(
    ({ slug, sale, contextTokens, offers }) =>
      html`<tr><td><a href="/catalog/models/${slug}"><code>${slug}</code></a></td><td class="money">${moneyHtml(usdMoney(sale.input))}</td><td class="money">${moneyHtml(usdMoney(sale.output))}</td><td class="money">${tokensShown(contextTokens)}</td><td>${offers.length > 0 ? servedBy(offers) : "not configured"}</td></tr>`,
  );
  const all = models.flatMap(({ sale }) => [usdMoney(sale.input), usdMoney(sale.output)]);
  return html`${facts([
    ["Tries", `these in order, as far as they are configured: ${configured} of ${models.length}`],
    ["Cost", "what the model that answers costs"],
    listed && ["First choice", `${listed.first.slug}: ${perMillionWords(listed.first.sale)}`],
    listed && ["At most", perMillionWords(listed.priceMax)],
    offFact(configured > 0, site),
  ])}<div class="scroll"><table class="rates ${fractionClass(all)}"><thead><tr><th>Model</th><th class="money">Input</th><th class="money">Output</th><th class="money">Context</th><th></th></tr></thead><tbody>${rows}</tbody></table></div>${modelCall(`core/${tier.id}`, "chat", site)}`;
}

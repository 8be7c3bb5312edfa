// One line of the catalog's page, for an action, a row of an action's table, a model or a tier. Its details load when it is opened.

import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf, rowPrice } from "../../actions/run/descriptor.ts";
import { tableOf } from "../../actions/run/params-schema.ts";
import type { Found } from "../../actions/run/search-index.ts";
import type { SoldEmbedding, SoldModel } from "../../catalog/catalog.ts";
import { centsMoney, type Money, moneyHtml, usdMoney } from "./aligned-money.ts";
import { type Html, html } from "./html.ts";
import type { TierShown } from "./tiers-shown.ts";

/** A line with its amounts, which align with those of the other lines. */
export interface Entry {
  readonly line: Html;
  readonly money: readonly Money[];
}

interface LineParts {
  readonly id: string;
  readonly path: string;
  /** The part of the name after `prefix`. */
  readonly name: string;
  readonly prefix: string;
  /** A configured provider serves it. */
  readonly configured: boolean;
  readonly cells: Html;
}

/** Cached: creating one takes longer than the rest of a line. */
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact" });

/** Tokens in short form: `200k`, `1m`. */
export function tokensShown(count: number): string {
  return COMPACT.format(count).toLowerCase();
}

function line({ id, path, name, prefix, configured, cells }: LineParts): Html {
  const state = configured
    ? html`<span class="on"></span>`
    : html`<span class="off" title="Not configured here">not configured</span>`;
  return html`<details id="${id}"><summary><span class="name"><span>${prefix}</span>${name}</span>${cells}${state}</summary><div class="inside"><a class="more" href="${path}">Details</a></div></details>
`;
}

function says(text: string): Html {
  return html`<span class="says">${text}</span>`;
}

function price(money: Money): Html {
  return html`<span class="price money">${moneyHtml(money)}</span>`;
}

export function actionEntry(action: CatalogAction): Entry {
  const shown = descriptorOf(action);
  const money = centsMoney(shown.price);
  const cells = html`${says(shown.description)}${price(money)}`;
  const { id, service, action: name, configured } = action;
  return {
    line: line({ id, path: `/catalog/actions/${id}`, prefix: `${service}/`, name, configured, cells }),
    money: [money],
  };
}

/** A search result: an action, or one row of its table. */
export function foundEntry({ action, row }: Found): Entry {
  const table = tableOf(action);
  const found = row === null ? undefined : table?.rows[row];
  if (row === null || table === null || found === undefined) return actionEntry(action);
  const money = centsMoney(rowPrice(found, action.facts.price));
  const named = `${action.id}?${table.param}=${encodeURIComponent(row)}`;
  const cells = html`${says(found.summary)}${price(money)}`;
  const parts = { id: named, path: `/catalog/actions/${named}`, prefix: `${action.id} `, name: row };
  return { line: line({ ...parts, configured: action.configured, cells }), money: [money] };
}

export function modelEntry({ slug, kind, sale, contextTokens, offers }: SoldModel | SoldEmbedding): Entry {
  const [maker = "", ...rest] = slug.split("/");
  const input = usdMoney(sale.input);
  const output = kind === "chat" ? usdMoney(sale.output) : null;
  const outputCell = output === null ? html`<span class="kind">${kind}</span>` : moneyHtml(output);
  const cells = html`<span class="money input">${moneyHtml(input)}</span><span class="money output">${outputCell}</span><span class="context">${tokensShown(contextTokens)}</span>`;
  const parts = { id: slug, path: `/catalog/models/${slug}`, prefix: `${maker}/`, name: rest.join("/") };
  return {
    line: line({ ...parts, configured: offers.length > 0, cells }),
    money: output === null ? [input] : [input, output],
  };
}

export function tierEntry({ tier, models, configured }: TierShown): Entry {
  const status = html`<span class="price">${configured} of ${models.length} configured</span>`;
  const parts = { id: `core/${tier.id}`, path: `/catalog/tiers/${tier.id}`, prefix: "core/", name: tier.id };
  return {
    line: line({ ...parts, configured: configured > 0, cells: html`${says(tier.purpose)}${status}` }),
    money: [],
  };
}

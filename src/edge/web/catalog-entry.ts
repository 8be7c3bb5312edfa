// A card of the catalog's page, for an action, a row of an action's table or a tier. Its details load when it is opened.
import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf, rowPrice } from "../../actions/run/descriptor.ts";
import { tableOf } from "../../actions/run/params-schema.ts";
import type { Found } from "../../actions/run/search-index.ts";
import { logo, type Measured, state } from "./catalog-models.ts";
import { type Html, html, type Put } from "./html.ts";
import { pill, seconds } from "./kit/shown.ts";
import { isPaidFixed } from "./openapi.ts";
import type { TierShown } from "./tiers-shown.ts";
import { priceWords } from "./words.ts";

/** What cards show of this gateway. */
export interface CardParts {
  readonly measured: Measured;
  /** Whether calls can be paid for without a key, and whether there are pages to try them on. */
  readonly x402: boolean;
  readonly tries: boolean;
}

interface Card {
  readonly id: string;
  readonly path: string;
  readonly name: Html;
  readonly says: string;
  /** A configured provider serves it. */
  readonly configured: boolean;
  readonly facts: Put;
  /** The page on which it can be called. */
  readonly tryAt?: string;
}

function card({ id, path, name, says, configured, facts, tryAt }: Card): Html {
  const button =
    tryAt === undefined ? "" : html`<a class="button plain small" href="${tryAt}" aria-label="Try ${id}">Try</a>`;
  return html`<div class="entry"><details id="${id}"><summary><span class="name">${name}</span>${state(configured)}<span class="says">${says}</span><span class="meta">${facts}</span></summary><div class="inside"><a class="more" href="${path}">Details</a></div></details>${button}</div>
`;
}

function actionParts(action: CatalogAction, { measured, x402, tries }: CardParts) {
  const { calls, failed, ms } = measured.calls(action.id);
  const time =
    calls === failed ? "" : html`<span title="The mean of thirty days">${seconds(ms / (calls - failed))}</span>`;
  return {
    configured: action.configured,
    more: html`${time}${x402 && isPaidFixed(action) ? pill("works with x402") : ""}`,
    ...(tries ? { tryAt: `/try?action=${encodeURIComponent(action.id)}` } : {}),
  };
}

export function actionCard(action: CatalogAction, parts: CardParts): Html {
  const { description, price } = descriptorOf(action);
  const { id, service, action: last } = action;
  const { more, ...rest } = actionParts(action, parts);
  const facts = html`<b class="price">${priceWords(price)}</b>${more}`;
  const name = html`${logo(service)} <span>${service}/</span>${last}`;
  return card({ id, path: `/catalog/actions/${id}`, name, says: description, facts, ...rest });
}

/** A search result: an action, or one row of its table. */
export function foundCard({ action, row }: Found, parts: CardParts): Html {
  const table = tableOf(action);
  const found = row === null ? undefined : table?.rows[row];
  if (row === null || table === null || found === undefined) return actionCard(action, parts);
  const id = `${action.id}?${table.param}=${encodeURIComponent(row)}`;
  const { more, ...rest } = actionParts(action, parts);
  const facts = html`<b class="price">${priceWords(rowPrice(found, action.facts.price))}</b>${more}`;
  const name = html`${logo(action.service)} <span>${action.id} </span>${row}`;
  return card({ id, path: `/catalog/actions/${id}`, name, says: found.summary, facts, ...rest });
}

export function tierCard({ tier, models, configured }: TierShown, { tries }: CardParts): Html {
  const id = `core/${tier.id}`;
  return card({
    id,
    path: `/catalog/tiers/${tier.id}`,
    name: html`<span>core/</span>${tier.id}`,
    says: tier.purpose,
    configured: configured > 0,
    facts: html`<b class="price">${configured} of ${models.length} configured</b>`,
    ...(tries ? { tryAt: `/try?model=${encodeURIComponent(id)}` } : {}),
  });
}

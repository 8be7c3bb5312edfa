// A card of the catalog's page, for an action, a row of an action's table or a tier.
import type { CatalogAction } from "../../actions/run/action-catalog.ts";
import { descriptorOf, rowDescriptor } from "../../actions/run/descriptor.ts";
import { tableOf } from "../../actions/run/params-schema.ts";
import type { Found } from "../../actions/run/search-index.ts";
import { type Measured, state } from "./catalog-models.ts";
import { type Html, html, type Put } from "./html.ts";
import { withQuery } from "./kit/ask.ts";
import { pill, seconds } from "./kit/shown.ts";
import { logo } from "./logos.ts";
import { isPaidFixed } from "./openapi.ts";
import type { TierShown } from "./tiers-shown.ts";
import { priceWords } from "./words.ts";

export interface CardParts {
  readonly measured: Measured;
  /** Whether calls can be paid for without a key, and whether there are pages to try them on. */
  readonly x402: boolean;
  readonly tries: boolean;
}

interface Card {
  readonly id: string;
  readonly path: string;
  readonly says: string;
  /** A configured provider serves it. */
  readonly configured: boolean;
  readonly price: string;
  /** The query of the playground that calls it; null: there is none. */
  readonly query: Readonly<Record<string, string>> | null;
}

function card({ id, path, says, configured, price, query }: Card, icon: Put = "", more: Put = ""): Html {
  const lastAt = Math.max(id.lastIndexOf("/"), id.lastIndexOf(" ")) + 1;
  const href = withQuery("/try", query ?? {});
  const button = html`<a class="button plain small" href="${href}" aria-label="Try ${id}">Try</a>`;
  return html`<article class="card entry" id="${id}"><h3>${icon}<a class="row name" href="/catalog/${path}"><span>${id.slice(0, lastAt)}</span>${id.slice(lastAt)}</a>${state(configured)}</h3><p class="says">${says}</p><p class="meta"><b class="price">${price}</b>${more}${query === null ? "" : button}</p></article>
`;
}

/** An action, or the row of its table with this name: its descriptor, and the query that names the row. */
export function rowOf(action: CatalogAction, row: string | null) {
  const table = tableOf(action);
  const shown = row === null ? null : rowDescriptor(action, row);
  if (row === null || table === null || shown === null)
    return { name: action.id, row: {}, shown: descriptorOf(action) };
  return { name: `${action.id} ${row}`, row: { [table.param]: row }, shown };
}

export function actionCard(found: Pick<Found, "action" | "row">, { measured, x402, tries }: CardParts): Html {
  const { id, service, configured } = found.action;
  const { name, row, shown } = rowOf(found.action, found.row);
  const { calls, failed, ms } = measured.calls(id);
  const time =
    calls === failed ? "" : html`<span title="The mean of thirty days">${seconds(ms / (calls - failed))}</span>`;
  const more = html`${time}${x402 && isPaidFixed(found.action) ? pill("works with x402") : ""}`;
  const query = tries ? { action: id, ...row } : null;
  const { description: says, price } = shown;
  const path = withQuery(`actions/${id}`, row);
  return card({ id: name, path, says, configured, price: priceWords(price), query }, logo(service), more);
}

export function tierCard({ tier, models, configured }: TierShown, { tries }: CardParts): Html {
  const id = `core/${tier.id}`;
  const price = `${configured} of ${models.length} configured`;
  const query = tries ? { model: id } : null;
  return card({ id, path: `tiers/${tier.id}`, says: tier.purpose, configured: configured > 0, price, query });
}

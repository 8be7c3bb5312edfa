// A card of the catalog's page, for an action, a row of an action's table or a tier.
import { descriptorOf, rowPrice } from "../../actions/run/descriptor.ts";
import { tableOf } from "../../actions/run/params-schema.ts";
import type { Found } from "../../actions/run/search-index.ts";
import { type Measured, state } from "./catalog-models.ts";
import { type Html, html, type Put } from "./html.ts";
import { pill, seconds } from "./kit/shown.ts";
import { logo } from "./logos.ts";
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
  /** The path of its page below `/catalog`. */
  readonly path: string;
  readonly logo?: Html;
  readonly says: string;
  /** A configured provider serves it. */
  readonly configured: boolean;
  readonly price: string;
  readonly more?: Put;
  /** The query of the playground that calls it. */
  readonly query: Readonly<Record<string, string>>;
}

function card(
  { id, path, logo: icon = html``, says, configured, price, more = "", query }: Card,
  tries: boolean,
): Html {
  const [, before = "", last = id] = /^(.*[/ ])(.*)$/.exec(id) ?? [];
  const button = tries
    ? html`<a class="button plain small" href="/try?${new URLSearchParams(query).toString()}" aria-label="Try ${id}">Try</a>`
    : "";
  return html`<article class="card entry" id="${id}"><h3>${icon}<a class="row name" href="/catalog/${path}"><span>${before}</span>${last}</a>${state(configured)}</h3><p class="says">${says}</p><p class="meta"><b class="price">${price}</b>${more}${button}</p></article>
`;
}

/** An action, or the row of its table with this name. */
export function actionCard({ action, row }: Pick<Found, "action" | "row">, { measured, x402, tries }: CardParts): Html {
  const { id, service, configured } = action;
  const table = tableOf(action);
  const found = row === null ? undefined : table?.rows[row];
  const { calls, failed, ms } = measured.calls(id);
  const time =
    calls === failed ? "" : html`<span title="The mean of thirty days">${seconds(ms / (calls - failed))}</span>`;
  const more = html`${time}${x402 && isPaidFixed(action) ? pill("works with x402") : ""}`;
  const of = { logo: logo(service), configured, more };
  if (row === null || table === null || found === undefined) {
    const { description, price } = descriptorOf(action);
    return card(
      { ...of, id, path: `actions/${id}`, says: description, price: priceWords(price), query: { action: id } },
      tries,
    );
  }
  const query = { [table.param]: row };
  const path = `actions/${id}?${new URLSearchParams(query).toString()}`;
  const price = priceWords(rowPrice(found, action.facts.price));
  return card({ ...of, id: `${id} ${row}`, path, says: found.summary, price, query: { action: id, ...query } }, tries);
}

export function tierCard({ tier, models, configured }: TierShown, { tries }: CardParts): Html {
  const id = `core/${tier.id}`;
  const price = `${configured} of ${models.length} configured`;
  return card(
    { id, path: `tiers/${tier.id}`, says: tier.purpose, configured: configured > 0, price, query: { model: id } },
    tries,
  );
}

// Finds pages, keys, accounts, transactions, models and actions by a part of their name or by their id. The page's script shows the same
// links in a dialog on Ctrl K.
import { type Html, html } from "./html.ts";
import { type Ask, bodyOr } from "./kit/ask.ts";
import { searchForm } from "./kit/forms.ts";
import type { Places } from "./kit/page.ts";
import type { Section } from "./kit/sections.ts";

const WORDS_MAX = 200;
const HITS_MAX = 8;
/** An id of a transaction, or of its request. */
const OF_CALL = /^(?:tx|req|open)_\w+$/;

export interface Hit {
  readonly kind: string;
  readonly name: string;
  readonly href: string;
  readonly note?: string;
}

/** Hits of one kind for what was typed. */
export type Look = (ask: Ask, words: string) => Promise<readonly Hit[]>;

export function has(text: string, words: string): boolean {
  return text.toLowerCase().includes(words.toLowerCase());
}

/** The call with an id. `api` is the endpoint of transactions, `path` the page of one. */
export function callWith(api: string, path: string): Look {
  return async (ask, words) => {
    if (!OF_CALL.test(words)) return [];
    // A charged call's transaction has the request's id under another prefix; one that was not charged has only its request.
    for (const id of new Set([words.replace(/^req_/, "tx_"), words])) {
      const found = await bodyOr<unknown>(ask("GET", `${api}/${encodeURIComponent(id)}`), null);
      if (found !== null) return [{ kind: "Transaction", name: words, href: `${path}/${encodeURIComponent(id)}` }];
    }
    return [];
  };
}

interface Discovered {
  readonly service: string;
  readonly action: string;
  readonly endpoint: string;
  readonly description: string;
  readonly category: string;
}

/** Actions that do what the words say, best first; empty where the search fails. */
export async function actionsFor(ask: Ask, words: string): Promise<readonly Discovered[]> {
  const { data } = await bodyOr(
    ask<{ readonly data: readonly Discovered[] }>("POST", "/api/run/core/discover", { query: words }),
    { data: [] },
  );
  return data.filter(({ endpoint }) => endpoint.startsWith("/api/run/"));
}

function hitsHtml(hits: readonly Hit[]): Html {
  const rows = hits.map(
    ({ kind, name, href, note }) =>
      html`<li><a href="${href}"><span class="soft">${kind}</span> <strong>${name}</strong>${note === undefined ? "" : html` <span class="soft">${note}</span>`}</a></li>`,
  );
  return html`<ul class="hits">${rows}</ul>`;
}

export function findSection(path: string, places: Places, looks: readonly Look[]): Section {
  const named = Object.values(places).flatMap((own) => Object.entries(own));
  return {
    path,
    async show({ ask, request }) {
      const words = (request.query.get("q") ?? "").trim().slice(0, WORDS_MAX);
      const hits: Hit[] = named.flatMap(([name, href]) => (has(name, words) ? [{ kind: "Page", name, href }] : []));
      if (words !== "") for (const look of looks) hits.push(...(await look(ask, words)).slice(0, HITS_MAX));
      const form = searchForm(path, [{ name: "q", label: "Name or id", value: words }]);
      const none = html`<p class="none">Nothing has this name or id. Type a part of another one.</p>`;
      return { title: "Find", body: html`${form}${hits.length === 0 ? none : hitsHtml(hits)}` };
    },
  };
}

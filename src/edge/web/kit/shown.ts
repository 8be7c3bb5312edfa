// How pages format facts: amounts with their exact value on hover, times, states, tables and forms.
import { getOrMake } from "../../../core/maps.ts";
import { type NanoSum, sumOfCents, usdTextOfSum } from "../../../core/money.ts";
import { Html, html, type Put } from "../html.ts";
import { withQuery } from "./ask.ts";

export const DAY_MS = 86_400_000;

/** `YYYY-MM-DD`, in UTC. */
export const dayOf = (epochMs: number) => new Date(epochMs).toISOString().slice(0, 10);

/** By the maximum number of digits. Cached: creating one takes longer than the rest of a row. */
const formats = new Map<number, Intl.NumberFormat>();

const formatOf = (digitsMax: number) =>
  new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: digitsMax });

/** An amount in dollars, rounded. */
export function rounded(nano: NanoSum): string {
  const usd = Number(nano) / 1e9;
  const size = Math.abs(usd);
  if (size === 0) return "$0";
  const sign = usd < 0 ? "-" : "";
  if (size < 0.0001) return `${sign}<$0.0001`;
  return `${sign}$${getOrMake(formats, size >= 1 ? 2 : 4, formatOf).format(size)}`;
}

/** An amount in dollars, rounded; exact on hover. */
export function money(nano: NanoSum): Html {
  return html`<span class="money" title="${usdTextOfSum(nano)} USD exactly">${rounded(nano)}</span>`;
}

/** The same from cents, which may be fractional. */
export function moneyOfCents(cents: number): Html {
  return money(sumOfCents(cents));
}

/** A time in UTC; the page's script adds the reader's local time on hover. */
export function time(iso: string | null | undefined): Html | string {
  if (iso === null || iso === undefined) return "never";
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")}</time>`;
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export const callsWords = (calls: number) => `${count(calls)} ${calls === 1 ? "call" : "calls"}`;

export const percent = (share: number) => `${Number((100 * share).toFixed(share >= 0.1 ? 0 : 1))} %`;

export function seconds(ms: number | null): string {
  if (ms === null) return "-";
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 9_950 ? 1 : 0)} s`;
}

export type Mood = "good" | "bad" | "warn" | "plain";

export function pill(words: string, mood: Mood = "plain"): Html {
  return html`<span class="pill ${mood}">${words}</span>`;
}

/** The main figures at the top of a page: the name, the value, and a small text below. */
export function tiles(all: readonly (readonly [name: string, value: Put, more?: Put])[]): Html {
  const small = (more: Put | undefined) => (more === undefined ? "" : html`<small>${more}</small>`);
  return html`<dl class="tiles">${all.map(([name, value, more]) => html`<div><dt>${name}</dt><dd>${value}${small(more)}</dd></div>`)}</dl>`;
}

/** A column's name, and after a bar its kinds: `num` for right-aligned figures, `large` for hidden on a phone, `acts` for buttons. */
export type Column = string;
const columnOf = (column: Column) => {
  const [, name = column, kind = ""] = /^(.*)\|([a-z ]+)$/.exec(column) ?? [];
  return { name, kind };
};

export interface Rows extends Iterable<readonly Put[]> {
  readonly length: number;
}

function linesOf(columns: readonly ReturnType<typeof columnOf>[], rows: Rows): Html {
  // On a phone a figure has its column's name before it.
  const attributes = columns.map(({ name, kind }) => {
    const label = kind.startsWith("num") ? html` data-name="${name}"` : "";
    return kind === "" ? "" : html` class="${kind}"${label}`;
  });
  const line = (row: readonly Put[]) =>
    html`<tr>${row.map((cell, at) => html`<td${attributes[at] ?? ""}>${cell}</td>`)}</tr>\n`;
  return new Html({
    *[Symbol.iterator]() {
      for (const row of rows) yield line(row);
    },
  });
}

/** A table with column names; shows `none` where it has no rows. */
export function table(label: string, names: readonly Column[], rows: Rows, none: string): Html {
  if (rows.length === 0) return html`<p class="none">${none}</p>`;
  const columns = names.map(columnOf);
  const head = columns.map(({ name, kind }) =>
    name === "" ? html`<td class="${kind}"></td>` : html`<th scope="col" class="${kind}">${name}</th>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table class="${columns.length > 2 ? "stack" : ""}"><thead><tr>${head}</tr></thead><tbody>${linesOf(columns, rows)}</tbody></table></div>`;
}

/** A table of items: the name of each column with its cell; false leaves a column out. */
export function tableOf<Item>(
  label: string,
  items: readonly Item[],
  none: string,
  columns: Readonly<Record<Column, ((item: Item) => Put) | false>>,
): Html {
  const cells = Object.entries(columns).filter((pair): pair is [Column, (item: Item) => Put] => pair[1] !== false);
  const names = cells.map(([name]) => name);
  // Each row is rendered only when needed.
  const rows = {
    length: items.length,
    *[Symbol.iterator]() {
      for (const item of items) yield cells.map(([, cell]) => cell(item));
    },
  };
  return table(label, names, rows, none);
}

export function card(title: string, body: Put): Html {
  return html`<section class="card"><h2>${title}</h2>${body}</section>`;
}

/** Names with their values; those without a value are left out. */
export function facts(all: readonly (readonly [string, Put])[]): Html {
  const known = all.filter(([, value]) => value !== "");
  return html`<dl class="facts">${known.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** A text with a copy button. */
export function callBox(text: string): Html {
  return html`<div class="call"><pre tabindex="0"><code>${text}</code></pre></div>`;
}

/** A secret that is shown once, what to do with it, and the way back. */
export function secretShown(secret: string, what: Put, back: string, next: Put = ""): Html {
  return html`<p>${what} It is shown once and cannot be read again: copy it now.</p>${callBox(secret)}${next}<p><a class="button" href="${back}">Done</a></p>`;
}

/** A link that opens a dialog of the page; without scripts it leads to the page with the dialog open. */
export function dialogLink(id: string, words: string, path: string): Html {
  return html`<p><a class="button" href="${path}?open=${id}#${id}" data-opens="${id}">${words}</a></p>`;
}

/** The page's script sends a form in it and shows the answer in it, such as a secret. */
export function dialog(id: string, title: string, body: Html, isOpen: boolean): Html {
  return html`<dialog id="${id}" aria-label="${title}"${isOpen ? html` open` : ""}><form method="dialog"><h2>${title}</h2><button class="plain small">Close</button></form>${body}</dialog>`;
}

export function problem(words: string | null): Html | string {
  return words === null ? "" : html`<p class="problem" role="alert">${words}</p>`;
}

export function told(words: string | null): Html | string {
  return words === null ? "" : html`<p class="told" role="status">${words}</p>`;
}

/** Mutually exclusive choices, each a link. */
export function switchOf(
  label: string,
  choices: readonly { readonly href: string; readonly name: string; readonly isOn: boolean }[],
): Html {
  const links = choices.map(
    ({ href, name, isOn }) => html`<a href="${href}"${isOn ? html` aria-current="true"` : ""}>${name}</a>`,
  );
  return html`<nav class="switch" aria-label="${label}">${links}</nav>`;
}

/** The link to the next page of a list. */
export function nextPage(path: string, query: Readonly<Record<string, string>>, cursor: string | null): Html | string {
  if (cursor === null) return "";
  return html`<p class="pages"><a href="${withQuery(path, { ...query, cursor })}">Next page</a></p>`;
}

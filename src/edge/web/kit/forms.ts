// Page forms: labeled fields, buttons with the session's token, and parsing of what was typed.
import { centsOf, parseUsd } from "../../../core/money.ts";
import { type Html, html, type Put } from "../html.ts";

export const PERIODS = [
  ["day", "a day"],
  ["week", "a week"],
  ["month", "a month"],
] as const;

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly note?: string;
  readonly type?: "text" | "number" | "password" | "date" | "url";
  readonly value?: string;
  readonly required?: boolean;
  readonly placeholder?: string;
  /** The options, value and label; absent: free text. */
  readonly options?: readonly (readonly [string, string])[];
}

/** One field; `within` makes its id unique where several forms of a page have the same field. */
export function field(
  { name, label, note, type = "text", value = "", required, placeholder = "", options }: Field,
  within = "",
) {
  const id = within === "" ? name : `${within}-${name}`;
  const small = note === undefined ? "" : html` <small>${note}</small>`;
  const must = required === true ? html` required` : "";
  const typed = type === "number" ? html` inputmode="decimal"` : html` type="${type}"`;
  const choices = (options ?? []).map(
    ([one, words]) => html`<option value="${one}"${one === value ? html` selected` : ""}>${words}</option>`,
  );
  const box =
    options === undefined
      ? html`<input id="${id}" name="${name}"${typed} value="${value}" placeholder="${placeholder}" spellcheck="false" autocomplete="off"${must}>`
      : html`<select id="${id}" name="${name}">${choices}</select>`;
  return html`<div><label for="${id}">${label}${small}</label>${box}</div>`;
}

export interface PostForm {
  readonly action: string;
  readonly csrf: string;
  /** Which of the page's actions the form performs. */
  readonly act: string;
  readonly hidden?: Readonly<Record<string, string>>;
}
export type FormBase = Omit<PostForm, "act">;

interface Look {
  readonly kind?: string;
  /** Added to the button's accessible name, where several buttons have the same text. */
  readonly label?: string;
  /** Makes the fields' ids unique. */
  readonly within?: string;
  readonly more?: Put;
}

/** A form that changes something: its fields and its button. */
export function postForm(form: PostForm, fields: readonly Field[], words: string, look: Look = {}): Html {
  const { kind = "", label, within, more = "" } = look;
  const { csrf, act, hidden = {} } = form;
  const kept = Object.entries({ csrf, act, ...hidden }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const name = label === undefined ? "" : html` aria-label="${words}: ${label}"`;
  const button = html`<button class="${kind}"${name}>${words}</button>${more}`;
  if (fields.length === 0 && more === "")
    return html`<form class="inline" method="post" action="${form.action}">${kept}${button}</form>`;
  return html`<form method="post" action="${form.action}">${kept}<div class="fields">${fields.map((one) => field(one, within))}</div><div class="buttons">${button}</div></form>`;
}

export function buttonForm(form: PostForm, words: string, look: Look = {}): Html {
  return postForm(form, [], words, { kind: "plain small", ...look });
}

/** A form that finds rows; links can prefill it. `more`: beside the button. */
export function searchForm(path: string, fields: readonly Field[], words = "Find", more: Put = ""): Html {
  return html`<form class="filters" method="get" action="${path}" role="search" aria-label="${words}">${fields.map((one) => field(one))}<div class="buttons"><button class="plain">${words}</button>${more}</div></form>`;
}

/** A typed number; undefined: nothing was typed. Invalid text is returned as it is, for the endpoint to refuse. */
export function numberIn(typed: string | undefined): number | string | undefined {
  const text = typed?.trim() ?? "";
  if (text === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/** A typed dollar amount in cents; undefined: nothing was typed. Invalid text is returned as it is, for the endpoint to refuse. */
export function centsIn(typed: string | undefined): number | string | undefined {
  const text = typed?.trim().replace(/^\$\s*/, "") ?? "";
  if (text === "") return undefined;
  const amount = parseUsd(text);
  return amount === null ? text : centsOf(amount);
}

/** A typed list, separated by commas or newlines; null: empty. */
export function listIn(typed: string | undefined): readonly string[] | null {
  const all = (typed ?? "").split(/[\s,]+/).filter((one) => one !== "");
  return all.length === 0 ? null : all;
}

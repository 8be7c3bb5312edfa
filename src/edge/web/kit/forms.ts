// Page forms: labeled fields, buttons with the session's token, and parsing of what was typed.
import { centsOf, parseUsd } from "../../../core/money.ts";
import { type Html, html, type Put } from "../html.ts";

/** How often a ceiling resets. */
export const PERIODS = [
  ["day", "a day"],
  ["week", "a week"],
  ["month", "a month"],
] as const;

export interface Field {
  readonly name: string;
  readonly label: string;
  /** A small note after the label. */
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
  { name, label, note, type = "text", value = "", required, placeholder, options }: Field,
  within = "",
) {
  const id = within === "" ? name : `${within}-${name}`;
  const small = note === undefined ? "" : html` <small>${note}</small>`;
  const must = required === true ? html` required` : "";
  const typed = type === "number" ? html` inputmode="decimal"` : html` type="${type}"`;
  const box =
    options === undefined
      ? html`<input id="${id}" name="${name}"${typed} value="${value}" placeholder="${placeholder ?? ""}" spellcheck="false" autocomplete="off"${must}>`
      : html`<select id="${id}" name="${name}">${options.map(
          ([one, words]) => html`<option value="${one}"${one === value ? html` selected` : ""}>${words}</option>`,
        )}</select>`;
  return html`<div><label for="${id}">${label}${small}</label>${box}</div>`;
}

export interface PostForm {
  readonly action: string;
  readonly csrf: string;
  /** Which of the page's actions the form performs. */
  readonly act: string;
  readonly hidden?: Readonly<Record<string, string>>;
}

function hiddenFields({ csrf, act, hidden = {} }: PostForm): Html[] {
  return Object.entries({ csrf, act, ...hidden }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
}

export function postForm(form: PostForm, body: Put): Html {
  return html`<form method="post" action="${form.action}">${hiddenFields(form)}${body}</form>`;
}

/** A form with a single button. `label`: added to its accessible name, where several buttons have the same text. */
export function buttonForm(
  form: PostForm,
  words: string,
  { label, kind = "plain small" }: { label?: string; kind?: string } = {},
) {
  const name = label === undefined ? "" : html` aria-label="${words}: ${label}"`;
  return html`<form class="inline" method="post" action="${form.action}">${hiddenFields(form)}<button class="${kind}"${name}>${words}</button></form>`;
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

// Forms of pages: fields with their labels, buttons that carry the session's token, and what was sent, read as text.
import { centsOf, parseUsd } from "../../../core/money.ts";
import { type Html, html, type Put } from "../html.ts";

/** How often a ceiling begins anew. */
export const PERIODS = [
  ["day", "a day"],
  ["week", "a week"],
  ["month", "a month"],
] as const;

export interface Field {
  readonly name: string;
  readonly label: string;
  /** Said behind the label, in small. */
  readonly note?: string;
  readonly type?: "text" | "number" | "password" | "date" | "url";
  readonly value?: string;
  readonly required?: boolean;
  readonly placeholder?: string;
  /** What can be chosen, value and words; absent: it is typed. */
  readonly options?: readonly (readonly [string, string])[];
}

/** One field; `within` makes its id differ from that of the same field in another form of the page. */
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
  /** What the form does, of the few things that its address can. */
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

/** A form that is one button. `label` says what it is about, where others have its name. */
export function buttonForm(
  form: PostForm,
  words: string,
  { label, kind = "plain small" }: { label?: string; kind?: string } = {},
) {
  const name = label === undefined ? "" : html` aria-label="${words}: ${label}"`;
  return html`<form class="inline" method="post" action="${form.action}">${hiddenFields(form)}<button class="${kind}"${name}>${words}</button></form>`;
}

/** A number that was typed; undefined: nothing was. What is no number stays text, for the endpoint to say so. */
export function numberIn(typed: string | undefined): number | string | undefined {
  const text = typed?.trim() ?? "";
  if (text === "") return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/** Dollars as they were typed, in cents; undefined: nothing was typed. What is no amount stays text, for the endpoint to say so. */
export function centsIn(typed: string | undefined): number | string | undefined {
  const text = typed?.trim().replace(/^\$\s*/, "") ?? "";
  if (text === "") return undefined;
  const amount = parseUsd(text);
  return amount === null ? text : centsOf(amount);
}

/** A list that was typed with commas or lines between; null: none was. */
export function listIn(typed: string | undefined): readonly string[] | null {
  const all = (typed ?? "").split(/[\s,]+/).filter((one) => one !== "");
  return all.length === 0 ? null : all;
}

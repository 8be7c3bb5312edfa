// Searchable transactions; the details of one with the routes tried, their durations and costs; and calls that were not charged.
import { ERRORS, type ErrorCode, type ErrorRow } from "../../../core/errors.ts";
import { type Html, html, type Put } from "../html.ts";
import { unlessRefused, withQuery } from "../kit/ask.ts";
import { type Field, searchForm } from "../kit/forms.ts";
import type { Section, Shown, Visit } from "../kit/sections.ts";
import { card, count, facts, money, nextPage, pill, problem, tableOf, time } from "../kit/shown.ts";
import {
  calledName,
  type FailedShown,
  type TransactionShown,
  type TransactionsShown,
  type WholeTransaction,
} from "./answers.ts";

const PATH = "/account/transactions";
const PAGE = "50";
const STATUSES = [
  ["", "Charged and credited"],
  ["charged", "Charged"],
  ["credited", "Credits and refunds"],
  ["failed", "Failed"],
  ["refused", "Refused"],
] as const;
/** The same as the endpoint's. Links may also have `provider`. */
const SEARCH: readonly Field[] = [
  { name: "status", label: "Which", options: STATUSES },
  { name: "from", label: "From", note: "UTC", type: "date" },
  { name: "to", label: "To", note: "UTC", type: "date" },
  { name: "key", label: "Key", placeholder: "key_..." },
  { name: "model", label: "Model or action", placeholder: "core/onesearch" },
  { name: "tag", label: "Tag", placeholder: "team=red" },
];

function amountOf({ charged_nano_usd, kind, ...rest }: TransactionShown): Html {
  if (kind === "charge") return money(charged_nano_usd);
  const credited = "credited_nano_usd" in rest && rest.credited_nano_usd !== undefined ? rest.credited_nano_usd : 0;
  return html`+${money(credited)}`;
}

const keyOf = ({ key_label, key_id }: TransactionShown | FailedShown) => key_label ?? key_id ?? "";

/** Input and output tokens, and how many of the input came from a cache. */
export function tokensOf(usage: TransactionShown["usage"] | undefined): Html | string {
  if (usage == null) return "";
  const { cache_read_tokens: read } = usage;
  const cached = read === 0 ? "" : html` <span class="soft">(${count(read)} cached)</span>`;
  return html`${count(usage.input_tokens + read + usage.cache_write_tokens)}${cached} → ${count(usage.output_tokens)}`;
}

export interface CallsPlace {
  readonly title: string;
  readonly path: string;
  readonly api: string;
  readonly fields: readonly Field[];
  readonly owner: string;
  readonly ownerOf: (row: TransactionShown | FailedShown) => Put;
}

const OWN: CallsPlace = {
  title: "Transactions",
  path: PATH,
  api: "/api/v1/transactions",
  fields: SEARCH,
  owner: "Key",
  ownerOf: keyOf,
};
export const ANY_SEARCH: CallsPlace["fields"] = [
  ...SEARCH,
  { name: "account", label: "Account", placeholder: "acct_..." },
];

const rowLink = (path: string, id: string, at: string) =>
  html`<a class="row" href="${path}/${encodeURIComponent(id)}">${time(at)}</a>`;

function charges(rows: readonly TransactionShown[], { title, path, owner, ownerOf }: CallsPlace): Html {
  return tableOf(title, rows, "No transaction matches. Change a filter, or clear them all.", {
    "Time (UTC)": (row) => rowLink(path, row.transaction_id, row.created_at),
    Call: (row) =>
      html`<span class="name">${calledName(row) || row.kind}</span> ${row.kind === "charge" ? "" : pill(row.kind, "good")}`,
    [`${owner}|large`]: ownerOf,
    "Tags|large": (row) => (row.tags ?? []).join(" "),
    "Tokens in → out|num large": (row) => tokensOf(row.usage),
    "Cost|num": amountOf,
  });
}

const errorOf = ({ code, status }: FailedShown) => pill(code ?? String(status), "bad");

/** Calls that were not charged, each with its reason. */
export function failures(
  rows: readonly FailedShown[],
  { path, ownerOf }: Pick<CallsPlace, "path" | "ownerOf"> = OWN,
): Html {
  return tableOf("Calls that were not charged", rows, "No call matches. Failed calls are kept for some days.", {
    "Time (UTC)": (row) => rowLink(path, row.request_id, row.created_at),
    Call: (row) =>
      html`<span class="name">${row.asked ?? row.endpoint}</span><br><span class="soft">${ownerOf(row)}</span>`,
    Reason: (row) =>
      html`${errorOf(row)} <span class="soft">${row.status}, after ${count(row.ms)} ms</span><br><span class="name">${row.reason ?? row.message ?? ""}</span>`,
  });
}

export interface ForOperator {
  readonly account: Html;
  /** Where to look for the cause. */
  readonly next: Html;
  readonly wordsOf: (attempt: FailedShown["attempts"][number]) => string;
}

/** The page of a call that was not charged: its error, the routes tried, and what to do. */
export function failurePage(call: FailedShown, path: string, operator?: ForOperator): Shown {
  const tried = tableOf("Routes tried", call.attempts, "No provider was called.", {
    Route: ({ vendor, model }) => html`${vendor} <span class="soft">${model}</span>`,
    Status: ({ status }) => (status === 0 ? "no answer" : String(status)),
    Reason: ({ reason }) => (reason === null ? pill("answered", "good") : pill(reason, "bad")),
    "The provider said": operator !== undefined && ((one) => html`<q class="name">${operator.wordsOf(one) || "-"}</q>`),
    "Duration|num": ({ ms }) => `${count(ms)} ms`,
  });
  const about = facts([
    ["Call", html`<span class="name">${call.asked ?? call.endpoint}</span>`],
    ["Error", html`${errorOf(call)} ${call.status}`],
    ["Time", html`${time(call.created_at)} UTC, after ${count(call.ms)} ms`],
    ["Account", operator?.account ?? ""],
    ["Key", html`${call.key_label ?? ""} <code>${call.key_id}</code>`],
    ["Tags", (call.tags ?? []).join(" ")],
    ["Request", html`<code>${call.request_id}</code>`],
  ]);
  // An earlier release may have had other codes.
  const error: ErrorRow | undefined = ERRORS[call.code as ErrorCode];
  const others = withQuery(path, { status: call.kind, model: call.asked ?? "" });
  const next = html`<p>${error?.hint ?? ""}</p><p><a href="${others}">Show others like it</a></p>${operator?.next ?? ""}`;
  return {
    title: call.kind === "refused" ? "Refused call" : "Failed call",
    body: html`${problem(call.reason ?? call.message ?? null)}<div class="grid">${card("Details", about)}${card("What to do", next)}</div>${card("Routes tried", tried)}`,
  };
}

/** The page of a search for calls; the form stays where a field is wrong. */
export function callsPage({ ask, request }: Visit, place: CallsPlace): Promise<Shown> {
  const { title, path, api, fields } = place;
  const names = [...fields.map(({ name }) => name), "provider", "cursor"];
  const text = (name: string) => (request.query.get(name) ?? "").trim().slice(0, 300);
  const asked: Readonly<Record<string, string>> = Object.fromEntries(names.map((name) => [name, text(name)]));
  const prefilled = fields.map((one) => ({
    ...one,
    value: one.type === "date" ? text(one.name).slice(0, 10) : text(one.name),
  }));
  const search = searchForm(path, prefilled, "Filter", html`<a class="button plain" href="${path}">Clear</a>`);
  const page = async (): Promise<Shown> => {
    const found = await ask<TransactionsShown>("GET", withQuery(api, { ...asked, limit: PAGE }));
    const rows =
      asked.status === "failed" || asked.status === "refused"
        ? failures(found.transactions as readonly unknown[] as readonly FailedShown[], place)
        : charges(found.transactions, place);
    const all = html`<section class="card" aria-label="${title} found">${rows}${nextPage(path, asked, found.next_cursor)}</section>`;
    return { title, body: html`${search}${all}` };
  };
  return unlessRefused(page(), ({ message, status }) => ({ title, body: html`${problem(message)}${search}`, status }));
}

export const transactionsSection: Section = { path: PATH, show: (visit) => callsPage(visit, OWN) };

/** The transaction's legs: which provider did the work, and what it cost us where that is known. */
export function legsTable({ legs }: WholeTransaction): Html {
  const hasCost = legs.some((leg) => "upstream_nano_usd" in leg);
  return tableOf("Routes tried", legs, "No provider took part.", {
    Route: (leg) => leg.vendor,
    Called: calledName,
    Outcome: (leg) => (leg.ok ? pill("answered", "good") : pill(leg.reason ?? "failed", "bad")),
    "Duration|num": (leg) => `${count(leg.ms)} ms`,
    "Our cost|num": hasCost && ((leg) => ("upstream_nano_usd" in leg ? money(Number(leg.upstream_nano_usd)) : "")),
  });
}

export function transactionFacts(whole: WholeTransaction): Html {
  const actions = (whole.actions ?? []).map(({ action, cents, ok }) => `${action} ${cents}¢${ok ? "" : ", failed"}`);
  return facts([
    ["Kind", whole.kind],
    ["Call", calledName(whole)],
    ["Time", html`${time(whole.created_at)} UTC`],
    ["Cost", amountOf(whole)],
    ["Tokens in → out", tokensOf(whole.usage)],
    ["Key", html`${whole.key_label ?? ""} <code>${whole.key_id ?? "-"}</code>`],
    ["Actions", actions.join("; ")],
    ["Tags", (whole.tags ?? []).join(" ")],
    ["Request", html`<code>${whole.request_id ?? "-"}</code>`],
    ["Transaction", html`<code>${whole.transaction_id}</code>`],
  ]);
}

export const transactionSection: Section = {
  path: `${PATH}/{id}`,
  place: PATH,
  async show({ ask, request }) {
    const api = `${OWN.api}/${encodeURIComponent(request.params.id ?? "")}`;
    const whole = await ask<WholeTransaction | FailedShown>("GET", api);
    if ("attempts" in whole) return failurePage(whole, PATH);
    const body = html`${card("Details", transactionFacts(whole))}${card("Routes tried", legsTable(whole))}`;
    return { title: "Transaction", body };
  },
};

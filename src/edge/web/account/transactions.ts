// Searchable transactions, and the details of one: the routes tried, their durations and costs; and failed calls with their reasons.
import { ERRORS, type ErrorRow } from "../../../core/errors.ts";
import { type Html, html } from "../html.ts";
import { unlessRefused, withQuery } from "../kit/ask.ts";
import { field } from "../kit/forms.ts";
import type { Section, Shown, Visit } from "../kit/sections.ts";
import { card, count, facts, money, nextPage, pill, problem, rowsOf, table, time } from "../kit/shown.ts";
import {
  calledName,
  type FailedShown,
  type TransactionShown,
  type TransactionsShown,
  type WholeTransaction,
} from "./answers.ts";

/** The search fields, the same as the endpoint's. */
export const SEARCH_FIELDS = ["status", "from", "to", "key", "model", "provider", "tag"] as const;
const STATUSES = [
  ["", "Charged and credited"],
  ["charged", "Charged"],
  ["credited", "Credits and refunds"],
  ["failed", "Failed"],
  ["refused", "Refused"],
] as const;
const PAGE = "50";

export function searchIn({ query }: Visit["request"], names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, (query.get(name) ?? "").trim().slice(0, 300)]));
}

/** The search form, which links can prefill. */
export function searchForm(path: string, asked: Readonly<Record<string, string>>, more: Html | string = ""): Html {
  return html`<form class="filters" method="get" action="${path}" aria-label="Filter">
${field({ name: "status", label: "Which", value: asked.status ?? "", options: STATUSES })}
${field({ name: "from", label: "From", note: "UTC", type: "date", value: (asked.from ?? "").slice(0, 10) })}
${field({ name: "to", label: "To", note: "UTC", type: "date", value: (asked.to ?? "").slice(0, 10) })}
${field({ name: "key", label: "Key", value: asked.key ?? "", placeholder: "key_..." })}
${field({ name: "model", label: "Model or action", value: asked.model ?? "", placeholder: "core/onesearch" })}
${field({ name: "tag", label: "Tag", value: asked.tag ?? "", placeholder: "team=red" })}
${more}<div class="buttons"><button>Filter</button><a class="button plain" href="${path}">Clear</a></div></form>`;
}

function shareOf({ charged_nano_usd, kind, ...rest }: TransactionShown): Html {
  if (kind === "charge") return money(charged_nano_usd);
  const credited = "credited_nano_usd" in rest && rest.credited_nano_usd !== undefined ? rest.credited_nano_usd : 0;
  return html`+${money(credited)}`;
}

const keyOf = ({ key_label, key_id }: TransactionShown | FailedShown) => key_label ?? key_id ?? "";

type Usage = NonNullable<TransactionShown["usage"]>;

/** Input and output tokens, and below them how many of the input came from a cache. */
function tokensOf(usage: Usage | null): Html | string {
  if (usage === null) return "";
  const input = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
  const cached =
    usage.cache_read_tokens === 0 ? "" : html` <span class="soft">(${count(usage.cache_read_tokens)} cached)</span>`;
  return html`${count(input)}${cached} → ${count(usage.output_tokens)}`;
}

/** Rows of charges and credits; `path`: the page of one of them. */
export function chargeRows(
  rows: readonly TransactionShown[],
  path: string,
  whose: { readonly name: string; readonly cell: (row: TransactionShown) => Html | string } = {
    name: "Key",
    cell: keyOf,
  },
): Html {
  const columns = ["Time (UTC)", "Call", `${whose.name}|large`, "Tags|large", "Tokens in → out|num large", "Cost|num"];
  return table("Transactions", columns, {
    none: "No transaction matches. Change a filter, or clear them all.",
    rows: rowsOf(rows, (row) => [
      html`<a class="row" href="${path}/${encodeURIComponent(row.transaction_id)}">${time(row.created_at)}</a>`,
      html`<span class="name">${calledName(row) || row.kind}</span> ${row.kind === "charge" ? "" : pill(row.kind, "good")}`,
      whose.cell(row),
      (row.tags ?? []).join(" "),
      tokensOf(row.usage),
      shareOf(row),
    ]),
  });
}

const errorOf = ({ code, status }: FailedShown) => pill(code ?? String(status), "bad");

/** Uncharged calls, each with its reason; `path`: the page of one of them. */
export function failedRows(
  rows: readonly FailedShown[],
  path: string,
  whose: (row: FailedShown) => Html | string = keyOf,
): Html {
  return table("Calls that were not charged", ["Time (UTC)", "Call", "Reason"], {
    none: "No call matches. Failed calls are kept for some days.",
    rows: rowsOf(rows, (row) => [
      html`<a class="row" href="${path}/${row.request_id}">${time(row.created_at)}</a>`,
      html`<span class="name">${row.asked ?? row.endpoint}</span><br><span class="soft">${whose(row)}</span>`,
      html`${errorOf(row)} <span class="soft">${row.status}, after ${count(row.ms)} ms</span><br><span class="name">${row.reason ?? row.message ?? ""}</span>`,
    ]),
  });
}

type Attempt = FailedShown["attempts"][number];

/** What the operator sees of a failed call beside its caller. */
export interface ForOperator {
  readonly account: Html;
  /** What the provider said on this route. */
  readonly wordsOf: (attempt: Attempt) => string;
}

/** The page of a call that was not charged: its error, the routes tried, and what to do. `path`: the page of all of them. */
export function failurePage(call: FailedShown, path: string, operator?: ForOperator): Shown {
  const columns = [
    "Route",
    "Status",
    "Reason",
    ...(operator === undefined ? [] : ["The provider said"]),
    "Duration|num",
  ];
  const tried = table("Routes tried", columns, {
    none: "No provider was called.",
    rows: call.attempts.map((one) => [
      html`${one.vendor} <span class="soft">${one.model}</span>`,
      one.status === 0 ? "no answer" : String(one.status),
      one.reason === null ? pill("answered", "good") : pill(one.reason, "bad"),
      ...(operator === undefined ? [] : [html`<q class="name">${operator.wordsOf(one) || "-"}</q>`]),
      `${count(one.ms)} ms`,
    ]),
  });
  const about = facts([
    ["Call", html`<span class="name">${call.asked ?? call.endpoint}</span>`],
    ["Error", html`${errorOf(call)} ${call.status}`],
    ["Time", html`${time(call.created_at)} UTC, after ${count(call.ms)} ms`],
    ...(operator === undefined ? [] : [["Account", operator.account] as const]),
    ["Key", html`${call.key_label ?? ""} <code>${call.key_id}</code>`],
    ["Tags", (call.tags ?? []).join(" ") || "-"],
    ["Request", html`<code>${call.request_id}</code>`],
  ]);
  // An earlier release may have had other codes.
  const error: ErrorRow | undefined = call.code === null ? undefined : ERRORS[call.code];
  const like = { status: call.kind, model: call.asked ?? "" };
  const next = html`<p>${error?.hint ?? ""}</p><p><a href="${withQuery(path, like)}">Calls like it that were not charged</a></p>`;
  return {
    title: call.kind === "refused" ? "Refused call" : "Failed call",
    body: html`${problem(call.reason ?? call.message ?? null)}<div class="grid">${card("Details", about)}${card("What to do", next)}</div>${card("Routes tried", tried)}`,
  };
}

/** Whether the search is for uncharged calls, which have rows of their own form. */
export const isFailure = (status: string | undefined) => status === "failed" || status === "refused";

/** The rows of a search for uncharged calls. */
export const failuresIn = (all: readonly unknown[]) => all as readonly FailedShown[];

interface FoundParts {
  readonly found: Promise<TransactionsShown>;
  readonly search: Html;
  readonly next: (cursor: string | null) => Html | string;
  readonly rows: (all: TransactionsShown["transactions"]) => Html;
}

/** The page of a search for transactions; the form stays where a field is wrong. */
export function foundPage(title: string, { found, search, next, rows }: FoundParts): Promise<Shown> {
  const page = async (): Promise<Shown> => {
    const { transactions, next_cursor } = await found;
    const all = html`<section class="card" aria-label="${title} found">${rows(transactions)}${next(next_cursor)}</section>`;
    return { title, body: html`${search}${all}` };
  };
  return unlessRefused(page(), ({ message, status }) => ({ title, body: html`${problem(message)}${search}`, status }));
}

export const transactionsSection: Section = {
  path: "/account/transactions",
  place: "/account/transactions",
  async show({ ask, request }) {
    const asked = searchIn(request, [...SEARCH_FIELDS, "cursor"]);
    return foundPage("Transactions", {
      found: ask("GET", withQuery("/api/v1/transactions", { ...asked, limit: PAGE })),
      search: searchForm(request.path, asked),
      next: (cursor) => nextPage(request.path, asked, cursor),
      rows: (all) =>
        isFailure(asked.status) ? failedRows(failuresIn(all), request.path) : chargeRows(all, request.path),
    });
  },
};

/** The transaction's legs: which provider did the work. `more`: further columns, such as our cost. */
export function legsTable(whole: WholeTransaction): Html {
  const columns = ["Route", "Called", "Outcome", "Duration|num", "Our cost|num"];
  const hasCost = whole.legs.some((leg) => "upstream_nano_usd" in leg);
  return table("Legs", hasCost ? columns : columns.slice(0, -1), {
    none: "No provider took part.",
    rows: whole.legs.map((leg) => [
      leg.vendor,
      calledName(leg),
      leg.ok ? pill("answered", "good") : pill(leg.reason ?? "failed", "bad"),
      `${count(leg.ms)} ms`,
      ...("upstream_nano_usd" in leg ? [money(Number(leg.upstream_nano_usd))] : []),
    ]),
  });
}

function actionsOf({ actions = [] }: WholeTransaction): string {
  return actions.map(({ action, cents, ok }) => `${action} ${cents}¢${ok ? "" : ", failed"}`).join("; ") || "-";
}

/** The facts of one transaction. */
export function transactionFacts(whole: WholeTransaction): Html {
  return facts([
    ["Kind", whole.kind],
    ["Call", calledName(whole) || "-"],
    ["Time", html`${time(whole.created_at)} UTC`],
    ["Cost", shareOf(whole)],
    ["Tokens in → out", tokensOf(whole.usage ?? null) || "-"],
    ["Key", html`${whole.key_label ?? ""} <code>${whole.key_id ?? "-"}</code>`],
    ["Actions", actionsOf(whole)],
    ["Tags", (whole.tags ?? []).join(" ") || "-"],
    ["Request", html`<code>${whole.request_id ?? "-"}</code>`],
    ["Transaction", html`<code>${whole.transaction_id}</code>`],
  ]);
}

export const transactionSection: Section = {
  path: "/account/transactions/{id}",
  place: "/account/transactions",
  async show({ ask, request }) {
    const api = `/api/v1/transactions/${encodeURIComponent(request.params.id ?? "")}`;
    const whole = await ask<WholeTransaction | FailedShown>("GET", api);
    if ("attempts" in whole) return failurePage(whole, "/account/transactions");
    return {
      title: "Transaction",
      body: html`${card("Details", transactionFacts(whole))}${card("Routes tried", legsTable(whole))}`,
    };
  },
};

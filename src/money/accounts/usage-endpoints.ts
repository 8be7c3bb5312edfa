// Spending reports, for the account itself and for the operator, as JSON and CSV.
import type { Accounts } from "../../core/account-rows.ts";
import type { Answer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { lessOf } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import type {
  FailedCall,
  FailedCallSearch,
  FailedCalls,
  Reports,
  UsageField,
  UsageQuery,
  UsageRow,
} from "../../core/usage-rows.ts";
import type { Books } from "./books.ts";
import { type CsvRow, csvAnswer } from "./csv.ts";
import { fewAtATime } from "./few-at-a-time.ts";
import { type Naming, named, namesOf, readable } from "./names.ts";
import { readQuery } from "./read-body.ts";
import {
  ownSearchSchema,
  ownUsageSchema,
  searchOf,
  searchSchema,
  tooWideError,
  usageQuery,
  usageSchema,
} from "./report-query.ts";
import { foundTransactionRow, isoTime, transactionRow } from "./rows.ts";
import { groupsByKey, type RuleRecords, rulesOf } from "./rules.ts";

type NamedBooks = Reports & Pick<Accounts, "account" | "key">;

export interface UsageParts {
  readonly books: NamedBooks;
  readonly rules: Pick<RuleRecords, "get">;
}

const NAMES: Readonly<Record<UsageField, string>> = {
  account: "account_id",
  key: "key_id",
  model: "model",
  provider: "provider",
  day: "day",
  tag: "tag",
  group: "group_id",
  run: "run_id",
};
/** A day's tags beyond those counted separately. */
const OTHER = "other";
const TRANSACTION_COLUMNS = [
  ...["transaction_id", "kind", "request_id", "created_at", "account_id", "account_name", "key_id", "key_label"],
  ...["endpoint", "asked", "served"],
  ...["vendor", "charged_cents", "charged_nano_usd", "charged_usd", "credited_nano_usd", "credited_usd"],
  ...["upstream_nano_usd", "upstream_usd", "absorbed_nano_usd", "absorbed_usd"],
  ...["estimated", "reference", "reason", "tags"],
];
const FAILED_COLUMNS = [
  ...["request_id", "kind", "created_at", "account_id", "account_name", "key_id", "key_label", "endpoint", "asked"],
  ...["status", "code", "reason", "message", "ms", "tags"],
  "attempts",
];

/** Exact: a number as long as it can be represented. */
function count(nano: string): number | string {
  const value = Number(nano);
  return Number.isSafeInteger(value) ? value : nano;
}

function shownGroup({ by }: UsageQuery, { group }: UsageRow) {
  return by.map((field) => {
    const value = group[field] ?? "";
    return [NAMES[field], field === "tag" && value === "*" ? OTHER : value || null] as const;
  });
}

/** `names`: the names of its account and its key. */
function usageRow(query: UsageQuery, row: UsageRow, names: Naming, forOperator: boolean): CsvRow {
  const amount = query.kind === "charged" ? "charged" : "credited";
  const margin = lessOf(row.amountNano, row.upstreamNano);
  return readable({
    ...Object.fromEntries(shownGroup(query, row)),
    ...names,
    calls: row.calls,
    [`${amount}_nano_usd`]: count(row.amountNano),
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    ...(forOperator ? { upstream_nano_usd: count(row.upstreamNano), absorbed_nano_usd: count(row.absorbedNano) } : {}),
    ...(forOperator && query.kind === "charged" ? { margin_nano_usd: count(margin) } : {}),
  });
}

interface Page {
  readonly format: "json" | "csv";
  /** The member that has the rows in JSON. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly CsvRow[];
  readonly next: string | null;
  /** Further members of the answer. */
  readonly more?: Readonly<Record<string, unknown>>;
}

async function pageAnswer({ format, name, columns, rows, next, more = {} }: Page): Promise<Answer> {
  if (format === "json") return { status: 200, body: { [name]: rows, next_cursor: next, ...more } };
  return csvAnswer(columns, rows, next);
}

/** A column for each name in the rows of this query. */
function nameColumns({ by }: UsageQuery): Naming {
  return {
    ...(by.includes("account") ? { account_name: null } : {}),
    ...(by.includes("key") ? { key_label: null } : {}),
    ...(by.includes("group") ? { group_name: null } : {}),
  };
}

/** A query by group, with the group of each key; and the groups' names. */
async function groupedQuery(rules: UsageParts["rules"], query: UsageQuery) {
  if (!query.by.includes("group") || query.accountId === null) return { query, groupName: () => ({}) };
  const known = await rulesOf(rules, query.accountId);
  const names = new Map(known.groups.map(({ id, name }) => [id, name]));
  const groupName = ({ group }: UsageRow) => ({ group_name: names.get(group.group ?? "") ?? null });
  return { query: { ...query, groups: groupsByKey(known) }, groupName };
}

async function usageAnswer(
  { books, rules }: UsageParts,
  asked: UsageQuery,
  { format, forOperator }: { readonly format: "json" | "csv"; readonly forOperator: boolean },
): Promise<Answer> {
  const { query, groupName } = await groupedQuery(rules, asked);
  const page = await books.usage(query);
  if ("tooWide" in page) throw tooWideError(page);
  const naming = namesOf(books, query.accountId);
  const rows = await fewAtATime(page.rows, async (row) =>
    usageRow(
      query,
      row,
      { ...(await naming(Object.fromEntries(shownGroup(query, row)))), ...groupName(row) },
      forOperator,
    ),
  );
  const nothing = { group: {}, calls: 0, amountNano: "0", upstreamNano: "0", absorbedNano: "0" };
  const none = { ...nothing, inputTokens: 0, outputTokens: 0 };
  const columns = Object.keys(usageRow(query, none, nameColumns(query), forOperator));
  // A tag that came late on a day with many tags may have been counted among the others.
  const more = page.mayLackTags ? { may_lack_tags: true } : {};
  return pageAnswer({ format, name: "usage", columns, rows, next: page.next, more });
}

/** One report at a time per account, so that one account's reports do not delay all others. */
export function ownReports(parts: UsageParts) {
  const making = new Set<string>();
  return async (caller: Caller, asked: URLSearchParams): Promise<Answer> => {
    const { accountId } = caller.payer;
    if (making.has(accountId)) {
      throw new GatewayError("concurrency_limit", { detail: { limit: 1 }, retryAfterSeconds: 1 });
    }
    making.add(accountId);
    try {
      return await ownUsage(parts, caller, asked);
    } finally {
      making.delete(accountId);
    }
  };
}

/** The account's own usage; for an agent key, only that key's. */
async function ownUsage(parts: UsageParts, { payer, primary }: Caller, asked: URLSearchParams): Promise<Answer> {
  const read = readQuery(ownUsageSchema, asked);
  const query = usageQuery(read, payer.accountId);
  if (!primary && query.keyId !== null && query.keyId !== payer.keyId)
    return pageAnswer({ format: read.format, name: "usage", columns: [], rows: [], next: null });
  const own = primary ? query : { ...query, keyId: payer.keyId };
  return usageAnswer(parts, own, { format: read.format, forOperator: false });
}

export async function anyUsage(parts: UsageParts, asked: URLSearchParams): Promise<Answer> {
  const read = readQuery(usageSchema, asked);
  const query = usageQuery(read, read.account);
  if (query.by.includes("group") && query.accountId === null) {
    const detail = "by: group needs an account beside it, whose groups are meant.";
    throw new GatewayError("bad_request", { detail, param: "by" });
  }
  // A key belongs to one account, so grouping by owner too adds no rows; credit belongs to no key.
  const tellsOwner = query.by.includes("key") && query.accountId === null && query.kind === "charged";
  const by = tellsOwner ? [...new Set([...query.by, "account" as const])] : query.by;
  return usageAnswer(parts, { ...query, by }, { format: read.format, forOperator: true });
}

export function failedRow(call: FailedCall) {
  return {
    request_id: call.requestId,
    kind: call.status,
    created_at: isoTime(call.createdAtMs),
    account_id: call.accountId,
    key_id: call.keyId,
    endpoint: call.endpoint,
    asked: call.asked,
    status: call.httpStatus,
    code: call.code,
    message: call.message ?? null,
    ms: call.ms,
    ...(call.tags.length > 0 ? { tags: call.tags } : {}),
    attempts: call.attempts.map(({ upstreamNano, ...attempt }) => ({ ...attempt, upstream_nano_usd: upstreamNano })),
  };
}

const operatorFailedRow = (call: FailedCall) => ({ ...failedRow(call), reason: call.reason ?? call.message ?? null });

/** An uncharged call as its payer sees it: without our cost, and without what a vendor says about our key. */
function ownFailedRow(call: FailedCall) {
  const attempts = call.attempts.map(({ upstreamNano: _, refusal: __, ...attempt }) => attempt);
  return { ...failedRow(call), attempts };
}

/** The uncharged call with the id of a request; null: none is known. An account's own (`accountId`), or any for the operator. */
export async function failedCall(
  { books, failedCalls }: { readonly books: NamedBooks; readonly failedCalls: FailedCalls },
  requestId: string,
  { accountId, keyId }: Pick<FailedCallSearch, "accountId" | "keyId">,
): Promise<object | null> {
  if (!requestId.startsWith("req_")) return null;
  const any = { status: null, model: null, provider: null, tag: null, fromMs: null, toMs: null, cursor: null };
  const { rows } = await failedCalls.find({ ...any, requestId, accountId, keyId, limit: 1 });
  const rowOf: (call: FailedCall) => object = accountId === null ? operatorFailedRow : ownFailedRow;
  return (await named(books, accountId, rows, rowOf))[0] ?? null;
}

type OwnBooks = NamedBooks & Pick<Books, "transactions">;

/** The account's own transactions, newest first; for an agent key, only that key's. */
export async function ownTransactions(
  books: OwnBooks,
  failedCalls: FailedCalls,
  { payer, primary }: Caller,
  asked: URLSearchParams,
): Promise<Answer> {
  const read = readQuery(ownSearchSchema, asked);
  const { limit, cursor = null, ...filters } = read;
  const { accountId } = payer;
  const keyId = primary ? (read.key ?? null) : payer.keyId;
  const shown = async <Item>(page: { rows: readonly Item[]; next: string | null }, rowOf: (item: Item) => object) => {
    const transactions = await named(books, accountId, page.rows, rowOf);
    return { status: 200, body: { transactions, next_cursor: page.next } };
  };
  if (!primary && read.key !== undefined && read.key !== payer.keyId)
    return { status: 200, body: { transactions: [], next_cursor: null } };
  if (Object.values(filters).every((filter) => filter === undefined)) {
    return shown(await books.transactions({ accountId, keyId, limit, cursor }), transactionRow);
  }
  const search = searchOf({ ...read, account: accountId, key: keyId ?? undefined });
  if ("failed" in search) {
    return shown(await failedCalls.find(search.failed), ownFailedRow);
  }
  const page = await books.search(search.postings);
  if ("tooWide" in page) throw tooWideError(page);
  return shown(page, transactionRow);
}

export async function anyTransactions(
  books: NamedBooks,
  failedCalls: FailedCalls,
  asked: URLSearchParams,
): Promise<Answer> {
  const read = readQuery(searchSchema, asked);
  const search = searchOf(read);
  const name = "transactions";
  if ("failed" in search) {
    const { rows, next } = await failedCalls.find(search.failed);
    return pageAnswer({
      format: read.format,
      name,
      columns: FAILED_COLUMNS,
      rows: await named(books, null, rows, operatorFailedRow),
      next,
    });
  }
  const page = await books.search(search.postings);
  if ("tooWide" in page) throw tooWideError(page);
  const rows = await named(books, null, page.rows, foundTransactionRow);
  return pageAnswer({ format: read.format, name, columns: TRANSACTION_COLUMNS, rows, next: page.next });
}

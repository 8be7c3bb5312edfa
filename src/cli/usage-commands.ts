// Commands for spending: usage by account, key, model, provider, day or tag, and the transactions behind it.

import type { NanoSum } from "../core/money.ts";
import { rounded } from "../edge/web/kit/shown.ts";
import { csvText } from "../money/accounts/csv.ts";
import { allOf, PAGE } from "./admin-client.ts";
import { type Command, type OptionShape, type Typed, UsageError, type Workplace } from "./command.ts";
import { table } from "./text.ts";

const TRANSACTIONS = 50;

type Row = Readonly<Record<string, unknown>>;

const FILTERS: Readonly<Record<string, OptionShape>> = {
  account: { value: "ID", meaning: "of this account alone" },
  key: { value: "ID", meaning: "of this key alone" },
  model: { value: "NAME", meaning: "of this model, or action as SERVICE/ACTION" },
  provider: { value: "NAME", meaning: "of this provider" },
  tag: { value: "NAME=VALUE", meaning: "of what callers have called this" },
  from: { value: "TIME", meaning: "since this UTC day, or time such as 2026-11-22T10:00:00Z" },
  to: { value: "TIME", meaning: "up to the end of this UTC day, or before this time" },
};
const CSV: OptionShape = { value: null, meaning: "print comma-separated values" };

function filtersIn(typed: Typed): Record<string, string> {
  const given = [...Object.keys(FILTERS), "status"].map((name) => [name, typed.text(name)] as const);
  return Object.fromEntries(given.filter((pair): pair is [string, string] => pair[1] !== undefined));
}

const shown = (value: unknown) => (value === null || value === undefined ? "-" : String(value));

function asTable(columns: Readonly<Record<string, string>>, rows: readonly Row[], width: number): string {
  if (rows.length === 0) return "Nothing.";
  const names = Object.keys(columns);
  return table(
    Object.values(columns),
    rows.map((row) => names.map((name) => shown(row[name]))),
    width,
  );
}

function columnsOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

const usage: Command = {
  name: "usage",
  options: {
    by: {
      value: "FIELDS",
      meaning:
        "account, key, model, provider, day, tag, run, group (of --account), or several with commas; default: day",
    },
    ...FILTERS,
    status: { value: "STATUS", meaning: "charged, as by itself, or credited" },
    sandbox: { value: null, meaning: "of the play money of sandbox accounts, which is left out else" },
    largest: { value: "COUNT", meaning: "only so many, those that come to most first" },
    csv: CSV,
  },
  summary: "Says who spent what, exactly, from the sums of each UTC day",
  async run(typed, place) {
    const by = typed.text("by") ?? "day";
    const largest = typed.number("largest");
    if (largest !== undefined && (largest < 1 || largest > PAGE))
      throw new UsageError(`--largest takes a number from 1 to ${PAGE}.`);
    const order = largest === undefined ? {} : { order: "amount" };
    const query = { ...filtersIn(typed), by, ...order, ...(typed.flag("sandbox") ? { sandbox: "1" } : {}) };
    const most = largest ?? Number.MAX_SAFE_INTEGER;
    const rows = await allOf<Row>(place.admin, "/admin/v1/usage", "usage", { query, most });
    const json = { usage: rows };
    if (typed.flag("csv")) return { json, text: (await csvText(columnsOf(rows), rows)).trimEnd() };
    const columns = columnsOf(rows).filter((name) => !name.endsWith("_nano_usd"));
    return {
      json,
      text: asTable(Object.fromEntries(columns.map((name) => [name, name.toUpperCase()])), rows, place.columns),
    };
  },
};

const TRANSACTION_COLUMNS = {
  created_at: "WHEN",
  transaction_id: "TRANSACTION",
  kind: "KIND",
  account_id: "ACCOUNT",
  account_name: "NAME",
  key_id: "KEY",
  key_label: "LABEL",
  served: "MODEL OR ACTION",
  vendor: "PROVIDER",
  nano: "NANO-USD",
  usd: "USD",
};

const FAILED_COLUMNS = {
  created_at: "WHEN",
  request_id: "REQUEST",
  account_id: "ACCOUNT",
  account_name: "NAME",
  key_id: "KEY",
  key_label: "LABEL",
  endpoint: "ENDPOINT",
  asked: "MODEL OR ACTION",
  status: "STATUS",
  code: "CODE",
  reason: "REASON",
};

const LEG_COLUMNS = {
  vendor: "PROVIDER",
  model: "MODEL",
  service: "SERVICE",
  action: "ACTION",
  ok: "OK",
  ms: "MS",
  charged_nano_usd: "NANO-USD",
};

async function oneTransaction(id: string, { admin, columns }: Workplace) {
  const json: Row = await admin.call("GET", `/admin/v1/transactions/${encodeURIComponent(id)}`);
  const actions = asTable({ action: "ACTION", cents: "CENTS", ok: "OK" }, (json.actions ?? []) as Row[], columns);
  const tables = [asTable(TRANSACTION_COLUMNS, [json], columns), asTable(LEG_COLUMNS, json.legs as Row[], columns)];
  return { json, text: (json.actions === undefined ? tables : [...tables, actions]).join("\n\n") };
}

const transactions: Command = {
  name: "transactions",
  options: {
    ...FILTERS,
    id: { value: "TRANSACTION", meaning: "this one alone, with what each route and each action of it cost" },
    status: { value: "STATUS", meaning: "charged or credited; or failed or refused, which were not charged" },
    limit: { value: "COUNT", meaning: `how many, newest first; ${TRANSACTIONS} by itself` },
    csv: CSV,
  },
  summary: "Lists transactions, newest first",
  async run(typed, place) {
    const id = typed.text("id");
    if (id !== undefined) return oneTransaction(id, place);
    const limit = typed.number("limit") ?? TRANSACTIONS;
    if (limit === 0) throw new UsageError("--limit takes a number from 1 on.");
    const page = { query: filtersIn(typed), most: limit };
    const rows = await allOf<Row>(place.admin, "/admin/v1/transactions", "transactions", page);
    const json = { transactions: rows };
    if (typed.flag("csv")) return { json, text: (await csvText(columnsOf(rows), rows)).trimEnd() };
    const isCharge = !["failed", "refused"].includes(typed.text("status") ?? "");
    if (!isCharge) return { json, text: asTable(FAILED_COLUMNS, rows, place.columns) };
    const priced = rows.map(({ credited_nano_usd, charged_nano_usd = 0, ...row }) => {
      const nano = (credited_nano_usd ?? charged_nano_usd) as NanoSum;
      return { ...row, nano, usd: rounded(nano) };
    });
    return { json, text: asTable(TRANSACTION_COLUMNS, priced, place.columns) };
  },
};

export const USAGE_COMMANDS: readonly Command[] = [usage, transactions];

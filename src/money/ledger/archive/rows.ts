// Postings as rows of the archive's one table, the same in SQLite and PostgreSQL.
import type { PostingRow } from "../../../core/account-rows.ts";
import { nano } from "../../../core/money.ts";
import type { TokenUsage } from "../../../core/route.ts";
import { legsIn, legsText } from "../model/legs.ts";
import { tagsIn, tagsText } from "../model/tags.ts";
import { runIn } from "../model/window-list.ts";
import type { NumberedPosting } from "./archive.ts";

/** Every column with its PostgreSQL type; SQLite uses only TEXT and INTEGER. */
export const COLUMNS = {
  account_id: "text NOT NULL",
  number: "bigint NOT NULL",
  transaction_id: "text NOT NULL",
  kind: "text NOT NULL",
  key_id: "text",
  parent_id: "text",
  request_id: "text",
  created_at: "bigint NOT NULL",
  day: "integer",
  inference: "integer NOT NULL",
  operation: "text",
  asked: "text",
  served: "text",
  provider: "text",
  amount: "bigint NOT NULL CHECK (amount >= 0)",
  charged_cents: "bigint NOT NULL CHECK (charged_cents >= 0)",
  upstream: "bigint NOT NULL",
  absorbed: "bigint NOT NULL CHECK (absorbed >= 0)",
  absorb_reason: "text",
  usage: "text",
  estimated: "integer NOT NULL",
  price_version: "text",
  reference: "text",
  reason: "text",
  legs: "text",
  tags: "text",
  windows: "text",
} as const;

/** Columns added since the first release; an older archive gets each in a step. */
export const ADDED: readonly Column[] = ["legs", "tags", "windows"];

export type Column = keyof typeof COLUMNS;
export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly Column[];

export type Value = string | number | null;
export type ArchiveRow = Readonly<Record<Column, Value>>;

/** Removes lone surrogates and NUL, which databases reject and callers may send in names. */
function clean(text: string | null): string | null {
  return text === null ? null : text.toWellFormed().replaceAll("\0", "\ufffd");
}

export function archiveRow(posting: NumberedPosting): ArchiveRow {
  return {
    account_id: posting.accountId,
    number: posting.number,
    transaction_id: posting.transactionId,
    kind: posting.kind,
    key_id: posting.keyId,
    parent_id: posting.parentId,
    request_id: clean(posting.requestId),
    created_at: posting.createdAtMs,
    day: posting.day,
    inference: posting.inference ? 1 : 0,
    operation: clean(posting.operation),
    asked: clean(posting.asked),
    served: clean(posting.served),
    provider: clean(posting.provider),
    amount: posting.amountNano,
    charged_cents: posting.chargedCents,
    upstream: posting.upstreamNano,
    absorbed: posting.absorbedNano,
    absorb_reason: clean(posting.absorbReason),
    usage: posting.usage === null ? null : clean(JSON.stringify(posting.usage)),
    estimated: posting.estimated ? 1 : 0,
    price_version: clean(posting.priceVersion),
    reference: clean(posting.reference),
    reason: clean(posting.reason),
    legs: legsText(posting.legs),
    tags: clean(tagsText(posting.tags)),
    windows: posting.windows,
  };
}

/** PostgreSQL returns large integers as strings. */
export function archivedPosting(row: ArchiveRow): NumberedPosting {
  const text = (column: Column) => (row[column] === null ? null : String(row[column]));
  const usage = text("usage");
  return {
    accountId: String(row.account_id),
    number: Number(row.number),
    transactionId: String(row.transaction_id),
    kind: row.kind as PostingRow["kind"],
    keyId: text("key_id"),
    parentId: text("parent_id"),
    requestId: text("request_id"),
    createdAtMs: Number(row.created_at),
    day: row.day === null ? null : Number(row.day),
    inference: Number(row.inference) === 1,
    operation: text("operation"),
    asked: text("asked"),
    served: text("served"),
    provider: text("provider"),
    amountNano: nano(Number(row.amount)),
    chargedCents: Number(row.charged_cents),
    upstreamNano: nano(Number(row.upstream)),
    absorbedNano: nano(Number(row.absorbed)),
    absorbReason: text("absorb_reason"),
    usage: usage === null ? null : (JSON.parse(usage) as TokenUsage),
    estimated: Number(row.estimated) === 1,
    priceVersion: text("price_version"),
    reference: text("reference"),
    reason: text("reason"),
    ...runIn(text("windows")),
    legs: legsIn(text("legs")),
    tags: tagsIn(text("tags")),
    windows: text("windows"),
  };
}

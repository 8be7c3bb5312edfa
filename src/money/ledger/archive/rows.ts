// Postings as rows: of the ledger's file, and of the archive's one table in SQLite and PostgreSQL.
import type { PostedLeg, PostingRow } from "../../../core/account-rows.ts";
import { nano } from "../../../core/money.ts";
import type { Value } from "../../../platform/storage/reading-thread.ts";
import { POSTING_FIELDS } from "../model/fields.ts";
import { legsIn, legsText } from "../model/legs.ts";
import { runIn } from "../model/window-list.ts";
import type { NumberedPosting } from "./archive.ts";

/** Every column of the archive with its PostgreSQL type; SQLite uses only TEXT and INTEGER. */
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

export type Row = Readonly<Record<string, Value>>;
export type ArchiveRow = Readonly<Record<Column, Value>>;

/** Tags are `name=value` pairs with distinct names. */
export function tagsText(tags: readonly string[]): string | null {
  return tags.length === 0 ? null : JSON.stringify(tags);
}

interface Codec {
  readonly read: (value: Value) => unknown;
  readonly write: (value: never) => Value;
}

/** Removes lone surrogates and NUL, which databases reject and callers may send in names. */
const clean = (text: string | null) => text?.toWellFormed().replaceAll("\0", "\ufffd") ?? null;
const textOf = (value: Value) => (value === null ? null : String(value));

/** PostgreSQL returns large integers as strings. */
const number: Codec = { read: (value) => (value === null ? null : Number(value)), write: (value: number) => value };
const text: Codec = { read: textOf, write: clean };
const flag: Codec = { read: (value) => Number(value) === 1, write: (is: boolean) => (is ? 1 : 0) };
const money: Codec = { read: (value) => nano(Number(value)), write: (value: number) => value };
const CODECS: Partial<Record<string, Codec>> = {
  inference: flag,
  estimated: flag,
  amount: money,
  upstream: money,
  absorbed: money,
  usage: {
    read: (value) => JSON.parse(textOf(value) ?? "null"),
    write: (usage: object | null) => (usage === null ? null : clean(JSON.stringify(usage))),
  },
  legs: { read: (value) => legsIn(textOf(value)), write: (legs: readonly PostedLeg[]) => legsText(legs) },
  tags: {
    read: (value) => JSON.parse(textOf(value) ?? "[]"),
    write: (tags: readonly string[]) => clean(tagsText(tags)),
  },
};

const FIELDS = Object.entries({ ...POSTING_FIELDS, number: { column: "number" } }).flatMap(([field, { column }]) => {
  if (column === null) return [];
  const { read, write } = CODECS[column] ?? (COLUMNS[column as Column].startsWith("text") ? text : number);
  return [{ field, column, read, write: write as (value: unknown) => Value }];
});
/** Lists show neither a posting's place nor its legs, which are long. */
const LISTED = FIELDS.filter(({ field }) => !["number", "day", "inference", "windows", "legs"].includes(field));

export function archiveRow(posting: NumberedPosting): ArchiveRow {
  return Object.fromEntries(
    FIELDS.map(({ field, column, write }) => [column, write(posting[field as keyof NumberedPosting])]),
  ) as ArchiveRow;
}

function read(row: Row, fields: typeof FIELDS): object {
  const posting: Record<string, unknown> = {};
  for (const one of fields) posting[one.field] = one.read(row[one.column] ?? null);
  return Object.assign(posting, runIn(textOf(row.windows ?? null)));
}

/** A posting as lists show it: without its legs. */
export function postingRow(row: Row): PostingRow {
  return { ...(read(row, LISTED) as PostingRow), legs: [] };
}

/** A posting with its legs. */
export function wholePosting(row: Row): PostingRow {
  return { ...postingRow(row), legs: legsIn(textOf(row.legs ?? null)) };
}

/** A whole posting with its place. `number`: its number within its account, which only the archive has in a column. */
export function numberedPosting(row: Row, number = Number(row.number)): NumberedPosting {
  return { ...(read(row, FIELDS) as NumberedPosting), number };
}

// Builds a `SELECT` with its parameters, in SQL that both SQLite and PostgreSQL understand.
import type { Value } from "../../../platform/storage/reading-thread.ts";

export type Dialect = "sqlite" | "postgres";

export interface Statement {
  readonly text: string;
  readonly values: readonly Value[];
}

/** Collects parameters while the text is written; each appears as `$1` and on (`?1` in SQLite). */
export class StatementWriter {
  readonly #dialect: Dialect;
  readonly #values: Value[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  value(value: Value): string {
    this.#values.push(value);
    const sign = this.#dialect === "sqlite" ? "?" : "$";
    const type = typeof value === "number" ? "bigint" : "text";
    return this.#dialect === "sqlite" ? `${sign}${this.#values.length}` : `${sign}${this.#values.length}::${type}`;
  }

  statement(text: string): Statement {
    return { text, values: this.#values };
  }
}

/** A row's tags, one per row as `t.value`. */
export function tagsOf(dialect: Dialect, tags: string): string {
  return dialect === "sqlite"
    ? `json_each(${tags}) AS t`
    : `LATERAL json_array_elements_text(${tags}::json) AS t(value)`;
}

export function listed(texts: readonly string[], write: StatementWriter, dialect: Dialect): string {
  if (dialect === "sqlite") return `SELECT value FROM json_each(${write.value(JSON.stringify(texts))})`;
  // PostgreSQL refuses NUL, and has stored none.
  const list = write.value(JSON.stringify(texts.map((text) => text.replaceAll("\0", "\ufffd"))));
  return `SELECT json_array_elements_text(${list}::json)`;
}

/** Joins the conditions; empty without any. */
export function where(conditions: readonly (string | null)[]): string {
  const all = conditions.filter((one) => one !== null);
  return all.length === 0 ? "" : `WHERE ${all.join(" AND ")}`;
}

export function cursorOf(values: readonly Value[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

/** Of the columns that order lists, these are numbers, and the others texts. */
const NUMBERS: readonly string[] = ["day", "created_at", "seq", "number"];

function isOf(column: string, value: unknown): boolean {
  return NUMBERS.includes(column) ? Number.isSafeInteger(value) : typeof value === "string";
}

/** `columns`: those of the list's order. Null for a foreign cursor, or one of another list. */
export function cursorIn(cursor: string, columns: readonly string[]): readonly Value[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    const good = Array.isArray(values) && values.length === columns.length;
    return good && columns.every((name, at) => isOf(name, values[at])) ? values : null;
  } catch {
    return null;
  }
}

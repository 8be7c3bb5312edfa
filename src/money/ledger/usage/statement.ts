// Writes a `SELECT` with the values that it is asked with, in words that SQLite and PostgreSQL both understand.
import type { Value } from "../../../platform/storage/reading-thread.ts";

export type Dialect = "sqlite" | "postgres";

export interface Statement {
  readonly text: string;
  readonly values: readonly Value[];
}

/** Collects values while a text is written; each stands in it as `$1` and on, which SQLite writes as `?1`. */
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

/** The tags of a row, one by one as `t.value`. */
export function tagsOf(dialect: Dialect, tags: string): string {
  return dialect === "sqlite"
    ? `json_each(${tags}) AS t`
    : `LATERAL json_array_elements_text(${tags}::json) AS t(value)`;
}

/** The texts of a list, to be found by `IN`. */
export function listed(texts: readonly string[], write: StatementWriter, dialect: Dialect): string {
  const list = write.value(JSON.stringify(texts));
  return dialect === "sqlite"
    ? `SELECT value FROM json_each(${list})`
    : `SELECT json_array_elements_text(${list}::json)`;
}

/** All conditions, of which there may be none. */
export function where(conditions: readonly (string | null)[]): string {
  const all = conditions.filter((one) => one !== null);
  return all.length === 0 ? "" : `WHERE ${all.join(" AND ")}`;
}

/** Values that a page ends with, as a cursor. */
export function cursorOf(values: readonly Value[]): string {
  return Buffer.from(JSON.stringify(values)).toString("base64url");
}

/** Null where it is none of ours, or one of another list. */
export function cursorIn(cursor: string, length: number): readonly Value[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    const good = Array.isArray(values) && values.length === length;
    return good && values.every((one) => typeof one === "string" || Number.isSafeInteger(one)) ? values : null;
  } catch {
    return null;
  }
}

// Rows as comma-separated values (RFC 4180), as spreadsheets read them.
import { eachOf, inSlices } from "../../core/slices.ts";

/** Spreadsheets evaluate fields that begin with these as formulas; text from callers must not become one. */
const FORMULA = /^[=+\-@\t\r]/;
const SPECIAL = /[",\r\n]/;

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const plain = typeof value === "object" ? JSON.stringify(value) : String(value);
  const text = typeof value === "string" && FORMULA.test(plain) ? `'${plain}` : plain;
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export type CsvRow = Readonly<Record<string, unknown>>;

function lineOf(columns: readonly string[], row: CsvRow): string {
  return columns.map((name) => cell(row[name])).join(",");
}

/** A page as an answer; its cursor is in a header. */
export async function csvAnswer(columns: readonly string[], rows: readonly CsvRow[], next: string | null) {
  const headers = { "content-type": "text/csv; charset=utf-8", ...(next === null ? {} : { "x-next-cursor": next }) };
  return { status: 200, body: await csvText(columns, rows), headers };
}

/** With a header row. A row may lack some columns. Built in slices. */
export async function csvText(columns: readonly string[], rows: readonly CsvRow[]): Promise<string> {
  const lines = await inSlices(eachOf(rows, (row) => lineOf(columns, row)));
  return `${[columns.join(","), ...lines].join("\r\n")}\r\n`;
}

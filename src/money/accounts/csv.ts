// Rows as comma-separated values (RFC 4180), as spreadsheets read them.
import { eachOf, inSlices } from "../../core/slices.ts";

/** Fields beginning with these are formulas to a spreadsheet; what callers have written must not be one. */
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

function textOf(columns: readonly string[], lines: readonly string[]): string {
  return `${[columns.join(","), ...lines].join("\r\n")}\r\n`;
}

/** With a heading; columns are named by `columns`, of which a row may lack some. */
export function csvText(columns: readonly string[], rows: readonly CsvRow[]): string {
  return textOf(
    columns,
    rows.map((row) => lineOf(columns, row)),
  );
}

/** The same, in slices. */
export async function csvInSlices(columns: readonly string[], rows: readonly CsvRow[]): Promise<string> {
  return textOf(columns, await inSlices(eachOf(rows, (row) => lineOf(columns, row))));
}

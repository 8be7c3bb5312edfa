// Rows as comma-separated values (RFC 4180), as spreadsheets read them.

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

/** With a heading; columns are named by `columns`, of which a row may lack some. */
export function csvText(columns: readonly string[], rows: readonly CsvRow[]): string {
  const lines = [columns.join(","), ...rows.map((row) => columns.map((name) => cell(row[name])).join(","))];
  return `${lines.join("\r\n")}\r\n`;
}

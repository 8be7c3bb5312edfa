// How results look to people: pairs and tables in plain text.

/** Name and value by line, the values in a column. */
export function pairs(rows: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

/** A table with a heading; columns of numbers stand to the right. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const numeric = heading.map((_, column) => rows.every((row) => /^[\d.,-]*$/.test(row[column] ?? "")));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (numeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd();
  return [heading, ...rows].map(line).join("\n");
}

/** Cents as dollars. */
export function usd(cents: number): string {
  return `${(cents / 100).toFixed(2)} USD`;
}

// Formats results for people: pairs and tables in plain text, within the width of the terminal if there is one.

const GAP = "  ";
const INDENT = "    ";
/** Text is not wrapped in narrower columns. */
const COLUMN_MIN = 20;

/** Wraps text into lines of at most `width`; a longer word gets its own line. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Indents all lines but the first. */
function hanging(lines: readonly string[], indent: number): string {
  return lines.join(`\n${" ".repeat(indent)}`);
}

/** A name and a value per line, the values aligned. */
export function pairs(rows: readonly (readonly [name: string, value: string])[], columns = Infinity): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + GAP.length;
  const room = Math.max(columns - width, COLUMN_MIN);
  return rows.map(([name, value]) => name.padEnd(width) + hanging(wrapped(value, room), width)).join("\n");
}

interface Layout {
  readonly heading: readonly string[];
  readonly widths: readonly number[];
  /** Columns of numbers are right-aligned. */
  readonly numeric: readonly boolean[];
}

function layoutOf(heading: readonly string[], rows: readonly (readonly string[])[]): Layout {
  return {
    heading,
    widths: heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0))),
    numeric: heading.map((_, column) => rows.every((row) => /^[\d.,-]*[kM]?$/.test(row[column] ?? ""))),
  };
}

function widthOf({ widths }: Layout, count: number): number {
  return widths.slice(0, count).reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

function lineOf(cells: readonly string[], { widths, numeric }: Layout): string {
  const padded = cells.map((cell, column) => {
    const width = widths[column] ?? 0;
    return numeric[column] ? cell.padStart(width) : cell.padEnd(width);
  });
  return padded.join(GAP).trimEnd();
}

/** Cells that do not fit beside the rest of their row, below it, with their titles. */
function below(row: readonly string[], shown: number, { heading }: Layout, columns: number): readonly string[] {
  const cells = row.flatMap((cell, column) =>
    column < shown || cell === "" ? [] : [{ title: heading[column], cell }],
  );
  const text = cells.map(({ title, cell }) => `${title?.toLowerCase()} ${cell}`).join("; ");
  return text === "" ? [] : wrapped(text, columns - INDENT.length).map((line) => INDENT + line);
}

/** A table with a heading. Cells of columns that do not fit follow below their row; the last column is wrapped if it has room. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], columns = Infinity): string {
  const layout = layoutOf(heading, rows);
  let shown = heading.length;
  while (shown > 1 && widthOf(layout, shown) > columns) shown--;
  if (shown === heading.length) return [heading, ...rows].map((row) => lineOf(row, layout)).join("\n");
  const used = widthOf(layout, shown) + GAP.length;
  const room = columns - used;
  const isLast = shown === heading.length - 1;
  const longest = Math.max(...rows.flatMap((row) => (row[shown] ?? "").split(" ").map((word) => word.length)));
  if (isLast && room >= Math.max(COLUMN_MIN, longest)) {
    const line = (row: readonly string[]) => {
      const [first = "", ...rest] = wrapped(row[shown] ?? "", room);
      return hanging([lineOf([...row.slice(0, shown), first], layout), ...rest], used);
    };
    return [heading, ...rows].map(line).join("\n");
  }
  const head = isLast && used + (heading[shown]?.length ?? 0) <= columns ? heading : heading.slice(0, shown);
  const lines = rows.flatMap((row) => {
    const whole = lineOf(row, layout);
    if (isLast && whole.length <= columns) return [whole];
    return [lineOf(row.slice(0, shown), layout), ...below(row, shown, layout, columns)];
  });
  return [lineOf(head, layout), ...lines].join("\n");
}

export function usd(cents: number): string {
  return `${(cents / 100).toFixed(2)} USD`;
}

// Writes tables in GitHub's Markdown: a header, one line per row, spans filled in. Tables used for layout become plain content.
import type { PageElement } from "./page-tree.ts";

/** A longer table is cut, with a note. */
const ROWS_MAX = 1_000;
const CELLS_MAX = 5_000;
/** Set on a cut table: how many rows it had. */
const ROWS_IN_ALL = "data-rows-in-all";
const COLUMNS_MAX = 100;
/** A longer text is written once, however many rows and columns its cell spans. */
const REPEATED_CHARS_MAX = 200;
/** Longer cells mean that the table is a page layout. */
const CELL_CHARS_MAX = 1_500;
const BLOCKS = "table,h1,h2,h3,pre,article,form,blockquote,p + p";

function rowsOf(table: PageElement): readonly PageElement[] {
  const parts = [...table.children].flatMap((child) =>
    /^(?:thead|tbody|tfoot)$/.test(child.localName) ? [...child.children] : [child],
  );
  return parts.filter((one) => one.localName === "tr");
}

const cellsOf = (row: PageElement) =>
  [...row.children].filter((one) => one.localName === "td" || one.localName === "th");

/** Whether a table contains data, rather than laying out a page. */
export function isData(table: PageElement): boolean {
  // A nested table would be written twice, and one within it four times.
  if (table.querySelector("table") !== null) return false;
  if (/^(presentation|none)$/.test(table.getAttribute("role") ?? "") && table.querySelector("th") === null)
    return false;
  const rows = rowsOf(table);
  const widest = Math.max(0, ...rows.slice(0, 50).map((row) => cellsOf(row).length));
  if (widest < 2) return false;
  const hasHead = table.querySelector("th,thead,caption") !== null;
  if (!hasHead && rows.length < 2) return false;
  const cells = rows.slice(0, 50).flatMap(cellsOf);
  if (cells.some((cell) => cell.textContent.length > CELL_CHARS_MAX)) return false;
  return hasHead || cells.every((cell) => cell.querySelector(BLOCKS) === null);
}

const spanOf = (cell: PageElement, name: string) =>
  Math.min(COLUMNS_MAX, Math.max(1, Number.parseInt(cell.getAttribute(name) ?? "1", 10) || 1));

interface Cell {
  readonly text: string;
  /** The cell begins here, rather than spanning from the left or from above. */
  readonly isOwn: boolean;
}

const EMPTY: Cell = { text: "", isOwn: false };

/** The text of each row and column: a cell that spans several appears in each. */
function gridOf(rows: readonly PageElement[], written: (cell: PageElement) => string): Cell[][] {
  const grid: Cell[][] = rows.map(() => []);
  let filled = 0;
  for (const [at, row] of rows.entries()) {
    let column = 0;
    for (const cell of cellsOf(row)) {
      while (grid[at]?.[column] !== undefined) column += 1;
      const text = written(cell);
      const repeated = text.length > REPEATED_CHARS_MAX ? "" : text;
      const [width, height] = [spanOf(cell, "colspan"), spanOf(cell, "rowspan")];
      for (let down = 0; down < height; down++) {
        for (let right = 0; right < width && column + right < COLUMNS_MAX && filled < CELLS_MAX; right++) {
          const line = grid[at + down];
          if (line === undefined) break;
          const isOwn = down === 0 && right === 0;
          line[column + right] ??= { text: isOwn ? text : repeated, isOwn };
          filled += 1;
        }
      }
      column += width;
    }
  }
  return grid;
}

type Row = readonly string[];
/** Financial statements put the sign of a figure, and its closing bracket, into columns of their own. */
const BEFORE_FIGURE = /^\(?[$€£¥₹₩]?\(?$/;
const BEHIND_FIGURE = /^(?:\)|%|\)%|%\))$/;

/** Drops columns that exist for spacing, in which no cell begins, and merges columns that hold only the sign of a neighbour. */
function columnsOf(grid: readonly (readonly Cell[])[]): Row[] {
  const width = Math.max(1, ...grid.map((row) => row.length));
  const all = Array.from({ length: width }, (_, at) => grid.map((row) => row[at] ?? EMPTY));
  const columns: string[][] = [];
  for (const column of all.filter((cells) => cells.some(({ text, isOwn }) => isOwn && text !== ""))) {
    const texts = column.map(({ text }) => text);
    const before = columns.at(-1);
    if (before !== undefined && isOneColumn(before, texts))
      columns[columns.length - 1] = before.map((text, at) => (text === texts[at] ? text : `${text}${texts[at] ?? ""}`));
    else columns.push(texts);
  }
  return grid.map((cells, at) => {
    const row = columns.map((column) => column[at] ?? "");
    return cells.filter(({ isOwn }) => isOwn).length === 1 ? once(row) : row;
  });
}

function isOneColumn(left: Row, right: Row): boolean {
  const pairs = left.map((text, at) => [text, right[at] ?? ""] as const);
  const isSign = (sign: RegExp, text: string) => text !== "" && sign.test(text);
  const leads = pairs.every(([a, b]) => a === b || a === "" || isSign(BEFORE_FIGURE, a));
  if (leads && pairs.some(([a, b]) => a !== b && isSign(BEFORE_FIGURE, a))) return true;
  const ends = pairs.every(([a, b]) => a === b || b === "" || isSign(BEHIND_FIGURE, b));
  return ends && pairs.some(([a, b]) => a !== b && isSign(BEHIND_FIGURE, b));
}

function once(row: Row): Row {
  const [first = "", ...others] = row;
  return others.every((text) => text === first) ? [first, ...others.map(() => "")] : row;
}

const isHead = (row: PageElement) => {
  const cells = cellsOf(row);
  return cells.length > 0 && cells.every((cell) => cell.localName === "th" || cell.querySelector("b,strong") !== null);
};

/** Removes the rows of long tables beyond what is written, to save their time. */
export function cutTables(body: PageElement): void {
  for (const table of body.querySelectorAll("table")) {
    const rows = rowsOf(table).filter((row) => cellsOf(row).length > 0);
    if (table.querySelector("table") !== null) continue;
    let cells = 0;
    const end = rows.findIndex((row, at) => {
      cells += cellsOf(row).length;
      return at === ROWS_MAX || cells > CELLS_MAX;
    });
    if (end < 1) continue;
    for (const row of rows.slice(end)) row.remove();
    table.setAttribute(ROWS_IN_ALL, String(rows.length));
  }
}

export function tableText(table: PageElement, written: (cell: PageElement) => string): string {
  const kept = rowsOf(table).filter((row) => cellsOf(row).length > 0);
  const all = table.getAttribute(ROWS_IN_ALL);
  const rows = columnsOf(gridOf(kept, written));
  const width = rows[0]?.length ?? 0;
  // A single column is text layout, not a table.
  if (width < 2)
    return rows
      .flat()
      .filter((text) => text !== "")
      .join("\n\n");
  const heads = headsOf(kept, rows);
  const line = (row: Row) => `| ${row.join(" | ")} |`;
  const body = rows.slice(heads).filter((row) => row.some((text) => text !== ""));
  const caption = table.querySelector("caption");
  const before = caption === null ? [] : [written(caption), ""];
  const after = all === null ? [] : ["", `(Table cut after ${kept.length} of ${all} rows.)`];
  const header = headerOf(rows.slice(0, heads), width);
  return [...before, line(header), `|${" --- |".repeat(width)}`, ...body.map(line), ...after].join("\n");
}

/** The number of header rows: those that the table marks, else the first ones with an empty first column. */
function headsOf(kept: readonly PageElement[], rows: readonly Row[]): number {
  const named = kept.findIndex((row) => !isHead(row));
  if (named !== 0) return named < 0 ? 1 : named;
  const first = rows.findIndex((row) => row[0] !== "");
  const above = rows.slice(0, Math.max(0, first));
  return above.every((row) => row.every((text, at) => text === "" || at > 0)) ? above.length : 0;
}

/** Joins several header rows into one: "Year 2021". A table without a header gets an empty one. */
function headerOf(heads: readonly (readonly string[])[], width: number): readonly string[] {
  return Array.from({ length: width }, (_, at) =>
    [...new Set(heads.map((row) => row[at] ?? ""))].filter((one) => one !== "").join(" "),
  ).map(unstressed);
}

/** Removes bold from a header cell, whose place marks it already. */
const unstressed = (text: string) =>
  text.startsWith("**") && text.endsWith("**") && text.indexOf("**", 2) === text.length - 2 ? text.slice(2, -2) : text;

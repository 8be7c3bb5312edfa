// Tables as GitHub writes them: a header, a row a line, spans filled in; layouts in the shape of a table stay what is in them.
import type { PageElement } from "./page-dom.ts";

/** A longer one is cut, and says so. */
const ROWS_MAX = 1_000;
const CELLS_MAX = 5_000;
/** On a table that was cut: how many rows it had. */
const ROWS_IN_ALL = "data-rows-in-all";
const COLUMNS_MAX = 100;
/** Longer cells are no figures, but the columns of a page. */
const CELL_CHARS_MAX = 1_500;
const BLOCKS = "table,h1,h2,h3,pre,article,form,blockquote,p + p";

function rowsOf(table: PageElement): readonly PageElement[] {
  const parts = [...table.children].flatMap((child) =>
    /^(THEAD|TBODY|TFOOT)$/i.test(child.nodeName) ? [...child.children] : [child],
  );
  return parts.filter((one) => /^TR$/i.test(one.nodeName));
}

const cellsOf = (row: PageElement) => [...row.children].filter((one) => /^T[DH]$/i.test(one.nodeName));

/** Whether a table is one of figures or facts, and not the layout of a page. */
export function isData(table: PageElement): boolean {
  // A table within one would be written twice, and one within that four times.
  if (/^(presentation|none)$/.test(table.getAttribute("role") ?? "") || table.querySelector("table") !== null)
    return false;
  const rows = rowsOf(table);
  const widest = Math.max(0, ...rows.slice(0, 50).map((row) => cellsOf(row).length));
  if (widest < 2) return false;
  const hasHead = table.querySelector("th,thead,caption") !== null;
  if (!hasHead && rows.length < 2) return false;
  const cells = rows.slice(0, 50).flatMap(cellsOf);
  if (cells.some((cell) => (cell.textContent?.length ?? 0) > CELL_CHARS_MAX)) return false;
  return hasHead || cells.every((cell) => cell.querySelector(BLOCKS) === null);
}

const spanOf = (cell: PageElement, name: string) =>
  Math.min(COLUMNS_MAX, Math.max(1, Number.parseInt(cell.getAttribute(name) ?? "1", 10) || 1));

/** What stands in each column of each row: a cell over several stands in each of them. */
function gridOf(rows: readonly PageElement[], written: (cell: PageElement) => string): string[][] {
  const grid: string[][] = rows.map(() => []);
  let filled = 0;
  for (const [at, row] of rows.entries()) {
    let column = 0;
    for (const cell of cellsOf(row)) {
      while (grid[at]?.[column] !== undefined) column += 1;
      const text = written(cell);
      const [width, height] = [spanOf(cell, "colspan"), spanOf(cell, "rowspan")];
      for (let down = 0; down < height; down++) {
        for (let right = 0; right < width && column + right < COLUMNS_MAX && filled < CELLS_MAX; right++) {
          const line = grid[at + down];
          if (line === undefined) break;
          line[column + right] ??= text;
          filled += 1;
        }
      }
      column += width;
    }
  }
  return grid;
}

const isHead = (row: PageElement) => {
  const cells = cellsOf(row);
  return (
    cells.length > 0 && cells.every((cell) => /^TH$/i.test(cell.nodeName) || cell.querySelector("b,strong") !== null)
  );
};

/** Takes the rows out of long tables that go beyond what is written: what is not there costs no time. */
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
  const grid = gridOf(kept, written);
  const width = Math.max(1, ...grid.map((row) => row.length));
  const heads = kept.findIndex((row) => !isHead(row));
  const header = headerOf(grid.slice(0, heads < 0 ? 1 : heads), width);
  const line = (row: readonly string[]) => `| ${Array.from({ length: width }, (_, at) => row[at] ?? "").join(" | ")} |`;
  const body = grid.slice(heads < 0 ? 1 : heads);
  const caption = table.querySelector("caption");
  const before = caption === null ? [] : [written(caption), ""];
  const after = all === null ? [] : ["", `(Table cut after ${kept.length} of ${all} rows.)`];
  return [...before, line(header), `|${" --- |".repeat(width)}`, ...body.map(line), ...after].join("\n");
}

/** Several rows of a head become one: "Year 2021". A table without a head has an empty one. */
function headerOf(heads: readonly (readonly string[])[], width: number): readonly string[] {
  return Array.from({ length: width }, (_, at) =>
    [...new Set(heads.map((row) => row[at] ?? ""))].filter((one) => one !== "").join(" "),
  ).map(unstressed);
}

/** A head is told by its place. */
const unstressed = (text: string) =>
  text.startsWith("**") && text.endsWith("**") && text.indexOf("**", 2) === text.length - 2 ? text.slice(2, -2) : text;

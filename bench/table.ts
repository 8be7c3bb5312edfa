// Prints the rows of a run, and keeps the last ones in the README.
import { readFileSync, writeFileSync } from "node:fs";
import type { Row } from "./bench.ts";
import { describeMachine } from "./measure.ts";

const README = new URL("README.md", import.meta.url);
const BEGIN = "<!-- last table: begin -->";
const END = "<!-- last table: end -->";
const HEAD = ["scenario", "measure", "value", "bar", ""];

/** The rows as a table that reads as well in a terminal as in Markdown. */
export function printTable(rows: readonly Row[]): string {
  const cells = [HEAD, ...rows.map((row) => [row.scenario, row.measure, row.value, row.bar, row.verdict])];
  const widths = HEAD.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0), 3));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
  lines.splice(1, 0, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`);
  return lines.join("\n");
}

export function saveTable(rows: readonly Row[]): void {
  const text = readFileSync(README, "utf8");
  const from = text.indexOf(BEGIN);
  const to = text.indexOf(END);
  if (from < 0 || to < from) throw new Error("bench/README.md has lost its markers");
  const day = new Date().toISOString().slice(0, 10);
  const table = `${BEGIN}\n\n${day}, ${describeMachine()}\n\n${printTable(rows)}\n\n`;
  writeFileSync(README, text.slice(0, from) + table + text.slice(to));
}

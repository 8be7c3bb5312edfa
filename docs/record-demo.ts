// Runs the demo and draws what it printed as a terminal: docs/images/demo-light.svg and demo-dark.svg.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const IMAGES = join(ROOT, "docs/images");
const COLUMNS_MAX = 104;
/** The drawing ends after the calls of a model and an action; the rest of the demo is too long for a page. */
const LINES_MAX = 19;
const CHAR_WIDTH = 8.4;
const LINE_HEIGHT = 20;
const PADDING = 20;

interface Theme {
  readonly back: string;
  readonly text: string;
  readonly faint: string;
  readonly good: string;
  readonly bad: string;
}

const THEMES: Readonly<Record<string, Theme>> = {
  light: { back: "#f6f8fa", text: "#1f2328", faint: "#59636e", good: "#1a7f37", bad: "#cf222e" },
  dark: { back: "#0d1117", text: "#e6edf3", faint: "#9198a1", good: "#3fb950", bad: "#f85149" },
};

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const cut = (line: string) => (line.length > COLUMNS_MAX ? `${line.slice(0, COLUMNS_MAX - 3)}...` : line);

function colorOf(line: string, theme: Theme): string {
  if (line.startsWith("$ ")) return theme.faint;
  if (/^ {2}(failed|not read)\b/.test(line)) return theme.bad;
  return /^ {2}(answered|read)\b|^Cost\b/.test(line) ? theme.good : theme.text;
}

function drawn(lines: readonly string[], theme: Theme): string {
  const width = Math.ceil(COLUMNS_MAX * CHAR_WIDTH + 2 * PADDING);
  const height = lines.length * LINE_HEIGHT + 2 * PADDING;
  const rows = lines.map((line, index) => {
    const y = PADDING + (index + 0.75) * LINE_HEIGHT;
    return `  <text x="${PADDING}" y="${y}" fill="${colorOf(line, theme)}" xml:space="preserve">${escaped(line)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    "  <title>npm run demo, and what it prints</title>",
    `  <rect width="100%" height="100%" rx="8" fill="${theme.back}"/>`,
    `  <g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">`,
    ...rows,
    "  </g>",
    "</svg>",
    "",
  ].join("\n");
}

const printed = execFileSync("npm", ["run", "-s", "demo"], { cwd: ROOT, encoding: "utf8" });
const lines = ["$ npm run demo", "", ...printed.split("\n").map(cut)].slice(0, LINES_MAX);
mkdirSync(IMAGES, { recursive: true });
for (const [name, theme] of Object.entries(THEMES)) {
  writeFileSync(join(IMAGES, `demo-${name}.svg`), drawn(lines, theme));
}

// Finds the code blocks in README and docs: which of them are commands, and which of those are run.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");
export const PAGES = [
  "README.md",
  "CHANGELOG.md",
  "bench/README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];

export interface Block {
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** The comment before it: `not run: <reason>` or `file: <name>`. */
  readonly comment: string;
}

/** The fenced blocks of a page, in order. */
export function blocksOf(path: string): readonly Block[] {
  const page = readFileSync(join(ROOT, path), "utf8");
  return [...page.matchAll(/(?:^<!-- (.*) -->\n)?^```(\w*)\n([\s\S]*?)\n```$/gm)].map((found) => ({
    line: page.slice(0, found.index).split("\n").length,
    comment: found[1] ?? "",
    language: found[2] ?? "",
    text: found[3] ?? "",
  }));
}

/** In these languages, a line may look like a command without being one. */
export const isCode = ({ language }: Block) => /^(ts|js|python|json|promql|ini)$/.test(language);
export const isShell = ({ language }: Block) => /^(sh|bash|shell|console)$/.test(language);
export const reasonOf = ({ comment }: Block) => /^not run: (.*)$/.exec(comment)?.[1] ?? null;
export const runsOf = (path: string) => blocksOf(path).filter((block) => isShell(block) && reasonOf(block) === null);

/** The commands of a block; a backslash continues one on the next line. */
export function commandsOf({ text }: Block): readonly string[] {
  return text
    .replaceAll("\\\n", "\\\r")
    .split("\n")
    .map((line) => line.replaceAll("\\\r", "\\\n"))
    .filter((line) => line.trim() !== "" && !line.startsWith("#"));
}

// Every regular expression in the sources, with its location: for the check that none takes more than linear time.
import { readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path";
import { parseAst } from "rolldown/parseAst";

export interface FoundRegex {
  readonly file: string;
  readonly line: number;
  readonly source: string;
  readonly flags: string;
}

/** One that is built at run time, from parts that the source does not show. */
export interface MadeRegex {
  readonly file: string;
  readonly line: number;
  readonly code: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly regex?: { readonly pattern: string; readonly flags: string };
  readonly callee?: { readonly name?: string };
}

export function sourcesBelow(...folders: readonly string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
      .map((entry) => normalize(join(entry.parentPath, entry.name))),
  );
}

/** Every node of a source file, parents before their children. */
export function* nodesOf(text: string): Generator<Node> {
  const waiting: unknown[] = [parseAst(text, { lang: "ts" })];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== "object" || one === null) continue;
    if ("type" in one && typeof one.type === "string") yield one as Node;
    waiting.push(...Object.values(one));
  }
}

/** The regular expressions of these files: literals, and those built from text. */
export function regexesIn(files: readonly string[]): { readonly found: FoundRegex[]; readonly made: MadeRegex[] } {
  const found: FoundRegex[] = [];
  const made: MadeRegex[] = [];
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    const lineOf = ({ start }: Node) => text.slice(0, start).split("\n").length;
    for (const node of nodesOf(text)) {
      if (node.regex != null) {
        const { pattern, flags } = node.regex;
        found.push({ file, line: lineOf(node), source: pattern, flags });
      } else if (/^(New|Call)Expression$/.test(node.type) && node.callee?.name === "RegExp") {
        made.push({ file, line: lineOf(node), code: text.slice(node.start, node.end) });
      }
    }
  }
  return { found, made };
}

// First names that may be one person's (nicknames.txt), one group a line: English, German, French, Spanish, Italian and Russian usage.
import { readFileSync } from "node:fs";

export const NICKNAMES: ReadonlyMap<string, ReadonlySet<number>> = read();

function read(): ReadonlyMap<string, ReadonlySet<number>> {
  const groups = new Map<string, Set<number>>();
  const text = readFileSync(new URL("nicknames.txt", import.meta.url), "utf8");
  for (const [at, line] of text.trim().split("\n").entries()) {
    for (const name of line.split(" ")) groups.set(name, (groups.get(name) ?? new Set()).add(at));
  }
  return groups;
}

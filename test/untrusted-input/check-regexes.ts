// Part of `npm run check`: no regular expression may take more than linear time, since the author of its input could block the gateway with
// it. Each check takes up to a second; the verdicts are stored beside this file. `--keep` writes new ones.
import { readFileSync, writeFileSync } from "node:fs";
import { EXCEPTIONS, MADE } from "./regex-exceptions.ts";
import { type FoundRegex, regexesIn, sourcesBelow } from "./regexes.ts";

// By default the package would first look for a native binary or a Java VM.
process.env.RECHECK_BACKEND = "pure";
const { checkSync } = await import("recheck");

const KEPT = new URL("./safe-regexes.json", import.meta.url);
const JUDGED_MS_MAX = 10_000;

/** A pattern without repetition is never slow. */
const REPEATS = /[*+{]/;

const safe = new Set(JSON.parse(readFileSync(KEPT, "utf8")) as string[]);
const { found, made } = regexesIn(sourcesBelow("src", "adapters", "tiers"));
const textOf = ({ source, flags }: FoundRegex) => `/${source}/${flags}`;
const faults: string[] = [];
let judged = 0;
const used = new Set<string>();

for (const regex of found) {
  const text = textOf(regex);
  const excepted = EXCEPTIONS[regex.file]?.[text];
  if (excepted !== undefined) {
    used.add(`${regex.file} ${text}`);
    continue;
  }
  if (!REPEATS.test(regex.source) || safe.has(text)) continue;
  judged++;
  const verdict = checkSync(regex.source, regex.flags, { timeout: JUDGED_MS_MAX });
  if (verdict.status === "safe") {
    safe.add(text);
    continue;
  }
  const why = verdict.status === "vulnerable" ? `${verdict.complexity.summary}: ${verdict.attack.pattern}` : "unknown";
  faults.push(`${regex.file}:${regex.line} ${text} - ${why.slice(0, 200)}`);
}
for (const { file, line, code } of made) {
  if (MADE[file]?.[code] === undefined)
    faults.push(`${file}:${line} ${code} - say in regex-exceptions.ts why it is linear`);
  else used.add(`${file} ${code}`);
}
for (const [file, texts] of [...Object.entries(EXCEPTIONS), ...Object.entries(MADE)]) {
  for (const text of Object.keys(texts)) {
    if (!used.has(`${file} ${text}`)) faults.push(`${file} ${text} - is no more: take it out of regex-exceptions.ts`);
  }
}

const now = new Set(found.map(textOf));
const kept = [...safe].filter((text) => now.has(text)).sort();
if (process.argv.includes("--keep")) writeFileSync(KEPT, `${JSON.stringify(kept, null, 2)}\n`);

for (const fault of faults) console.error(fault);
console.log(`${found.length} regular expressions, ${judged} judged anew, ${faults.length} faults`);
if (judged > 0 && faults.length === 0)
  console.log("keep the verdicts: node test/untrusted-input/check-regexes.ts --keep");
if (faults.length > 0) process.exitCode = 1;

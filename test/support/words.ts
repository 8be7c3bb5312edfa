// The English of pages and comments: the banned phrases, and splitting prose into sentences and words.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Banned {
  readonly phrase: RegExp;
  /** What to write instead. */
  readonly plain: string;
}

/** Phrases that a reader has to translate. */
export const BANNED: readonly Banned[] = [
  { phrase: /\b(?:is|are|was|were|be|been|being) (?:told|heard)\b/i, plain: "gets, sees, learns; or the answer says" },
  {
    phrase: /\b(?:is|are|was|were|been|being) asked\b/i,
    plain: "is called, is checked; or the gateway requests, retries",
  },
  { phrase: /\b(?:is|are|was|were|be|been) held against\b/i, plain: "is checked against, counts toward" },
  { phrase: /\bso (?:many|much)\b(?! (?:that|as))/i, plain: "the number or the amount" },
  {
    phrase: /\b(?:by|of) (?:itself|themselves|himself|its own|their own|his own)\b/i,
    plain: "own, automatically, or nothing",
  },
  { phrase: /\bgo(?:es)? on\b/i, plain: "continues" },
  {
    phrase: /\b(?:for|of|to|by) who(?:m|ever)?\b(?! (?:can|may)\b)/i,
    plain: "name the subject: the caller, the operator",
  },
  { phrase: /\bcomes? to\b(?! back)/i, plain: "totals, reaches" },
  { phrase: /\bha(?:s|ve) no say\b/i, plain: "has no effect" },
  { phrase: /\bwhat (?:there )?(?:is|are) no\b/i, plain: "name what is missing" },
  { phrase: /\bthat there (?:is|are)\b/i, plain: "existing, or nothing" },
  { phrase: /\bnot any more\b|\bno more than there\b/i, plain: "no longer" },
  { phrase: /\bat the most\b/i, plain: "at most" },
  { phrase: /\bin vain\b/i, plain: "without effect, unknown" },
  { phrase: /\bstrangers?\b/i, plain: "anonymous payer, untrusted input" },
  { phrase: /\bworth its\b|\bbears? (?:it|with)\b/i, plain: "accepts, supports" },
  { phrase: /\bto the utmost\b|\butmost\b/i, plain: "at most, maximum" },
];

/** Nearly the same in one pattern, for comments. Their count must only go down. */
export const STILTED =
  /\b(?:is|are|was|were|be|been|being) (?:asked|told|said|heard|held against)\b|\b(?:is|are) no\b|\bso (?:many|much)\b|\bas (?:many|much) as\b|\b(?:by|of) (?:itself|themselves|himself|its own|their own|his own)\b|\bgo(?:es)? on\b|\b(?:for|of|to|by) who(?:m|ever)?\b|\bcomes? to\b|\bha(?:s|ve) no say\b|\bwhat (?:it|they|there) (?:is|are|has|have)\b|\bthat there (?:is|are)\b|\bat the most\b|\bnot any more\b|\bin vain\b/i;

/** A page without code, comments and generated parts. */
export function written(page: string): string {
  return page
    .replace(/<!-- \w+: begin[\s\S]*?: end -->/g, "")
    .replace(/^```[\s\S]*?^```/gm, "")
    .replace(/^ {4}.*$/gm, "")
    .replace(/<!--[\s\S]*?-->/g, "");
}

/** Everything but code and tables. */
export function prose(page: string): string {
  return written(page).replace(/^\|.*$/gm, "");
}

/** Text as it is read: a link is its text, a piece of code is a word. */
export function read(text: string): string {
  return text.replace(/`[^`]*`/g, "code").replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1");
}

export function wordsIn(text: string): number {
  return read(text).match(/[\p{L}\p{N}$][^\s]*/gu)?.length ?? 0;
}

/** Sentences; an item of a list begins a new one, and so does a heading. */
export function sentencesOf(page: string): readonly string[] {
  return read(prose(page))
    .replace(/^(?:#+|[-*]|\d+\.|>) /gm, "\n\n")
    .split(/\n{2,}/)
    .flatMap((block) => block.replaceAll("\n", " ").split(/(?<=[.!?])\s+/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}

/** The comment lines of all TypeScript below these folders. */
export function commentLines(root: string, folders: readonly string[]): readonly string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
    )
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
    .flatMap((file) => readFileSync(join(root, file), "utf8").split("\n"))
    .filter((line) => /^\s*(?:\/\/|\/?\*)|\s\/\/ /.test(line));
}

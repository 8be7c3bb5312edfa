// The sandbox's words: a seeded sequence over a fixed vocabulary, so that the same request gets the same answer.
import { createHash } from "node:crypto";

const ADJECTIVES =
  "old new good great slow warm cold deep bright quiet silver green white small large open clear long early young dark soft".split(
    " ",
  );
const NOUNS = (
  "road house world day night hand year work line part place name point city story paper river market letter number window " +
  "summer winter bridge field forest gate coin clock bell voice song music teacher ship train doctor"
).split(" ");
const VERBS = "found held made left used lost met built won read passed changed called".split(" ");
/** Every answer begins with this, so that readers do not mistake it for a model's. */
const OPENING = "This is a sandbox answer so no model was used for it".split(" ");
/** A clause that follows another: `and the quiet river passed the old bridge`. */
const CLAUSE: readonly (readonly string[])[] = [["and"], ["the"], ADJECTIVES, NOUNS, VERBS, ["the"], ADJECTIVES, NOUNS];

/** Each word is a single token in OpenAI's encodings, with or without a leading space, so our counts match a tokenizer's. */
export const VOCABULARY: readonly string[] = [...new Set([...OPENING, ...CLAUSE.flat()])];

export function seedOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32LE(0);
}

/** Returns numbers in [0, 1) that depend only on the seed (mulberry32). */
export type Random = () => number;

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function oneOf(random: Random, words: readonly string[]): string {
  return words[words.length === 1 ? 0 : Math.floor(random() * words.length)] ?? "the";
}

export function wordFrom(random: Random): string {
  return oneOf(random, NOUNS);
}

/** Two words, such as `quiet river`. */
export function phraseFrom(random: Random): string {
  return `${oneOf(random, ADJECTIVES)} ${oneOf(random, NOUNS)}`;
}

/** Words of one token each, with leading spaces but the first. `width` pads each word once, so that a long answer shares strings. */
function pieces(count: number, width: number, wordAt: (at: number) => string): string[] {
  const shown = new Map<string, string>();
  const piece = (word: string): string => {
    const known = shown.get(word);
    if (known !== undefined) return known;
    const made = ` ${word.padEnd(width, "-")}`;
    shown.set(word, made);
    return made;
  };
  return Array.from({ length: count }, (_, at) => (at === 0 ? piece(wordAt(at)).slice(1) : piece(wordAt(at))));
}

/** Clauses with `count` words in total, each of which makes sense. */
export function clausesFrom(random: Random, count: number): string[] {
  // The first clause follows nothing, so it skips "and".
  return pieces(count, 0, (at) => oneOf(random, CLAUSE[(at + 1) % CLAUSE.length] ?? []));
}

/** A sentence of `count` words: first that no model wrote it, then clauses. */
export function sentenceFrom(random: Random, count: number, width = 0): string[] {
  return pieces(count, width, (at) => {
    return OPENING[at] ?? oneOf(random, CLAUSE[(at - OPENING.length) % CLAUSE.length] ?? []);
  });
}

/** Splits a text into one-word pieces with their leading whitespace; joined, they equal the text. */
export function piecesOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

export function idFrom(random: Random, length: number): string {
  return Array.from({ length }, () => Math.floor(random() * 36).toString(36)).join("");
}

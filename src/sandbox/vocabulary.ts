// Where the sandbox's words come from: a seeded sequence over a fixed vocabulary, so that the same request reads the same answer.
import { createHash } from "node:crypto";

/** Each word is a single token in OpenAI's encodings, with and without a leading space: what is counted here is what a tokenizer counts. */
export const VOCABULARY: readonly string[] = (
  "the of and to in is that for on with at by from this light road house world day night hand year work line part place " +
  "name point city story paper river market letter number window summer winter green white small large open clear long " +
  "old new good great slow warm cold deep bright quiet silver bridge field forest gate coin clock bell voice song music"
).split(" ");

/** The first 32 bits of a text's SHA-256. */
export function seedOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32LE(0);
}

/** A sequence of numbers in [0, 1) that depends on the seed alone (mulberry32). */
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

export function wordFrom(random: Random): string {
  return VOCABULARY[Math.floor(random() * VOCABULARY.length)] ?? "the";
}

/** `count` words, each one token, all but the first with its leading space; `width` pads every word to that many characters. */
export function wordsFrom(random: Random, count: number, width = 0): string[] {
  const lead = VOCABULARY.map((word) => word.padEnd(width, "-"));
  const rest = lead.map((word) => ` ${word}`);
  return Array.from({ length: count }, (_, at) => {
    const list = at === 0 ? lead : rest;
    return list[Math.floor(random() * list.length)] ?? "";
  });
}

/** Splits a text into pieces of one word each, every piece with the space before it; joined they are the text again. */
export function piecesOf(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

/** Random lower-case letters and digits, for ids. */
export function idFrom(random: Random, length: number): string {
  return Array.from({ length }, () => Math.floor(random() * 36).toString(36)).join("");
}

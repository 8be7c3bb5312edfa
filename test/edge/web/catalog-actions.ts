// Thousands of actions for tests of the catalog page. Their words are made up so that they compress no better than real ones.
import { z } from "zod";
import { CATEGORIES } from "../../../src/catalog/action.ts";
import { type LocalAction, localAction } from "../../../src/catalog/local-action.ts";

const SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xo zu ster lan der ing pro con".split(" ");

/** Numbers from 0 to 1 that look random and are the same in every run (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function manyActions(count: number): readonly LocalAction[] {
  const random = randomNumbers(1);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const word = () => Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(SYLLABLES)).join("");
  const vocabulary = Array.from({ length: 1_500 }, word);
  const sentence = () => `${Array.from({ length: 14 }, () => pick(vocabulary)).join(" ")}.`.slice(0, 110);
  return Array.from({ length: count }, (_, at) =>
    localAction({
      service: `${pick(vocabulary)}-${at % 97}`,
      action: `${pick(vocabulary)}-${at}`,
      description: sentence(),
      category: CATEGORIES[at % CATEGORIES.length] ?? "core",
      keywords: [pick(vocabulary)],
      effect: "read",
      params: z.strictObject({
        query: z.string().meta({ description: sentence() }),
        limit: z.int().min(1).max(50).default(10),
      }),
      price: { mode: "fixed", cents: Math.floor(random() * 40) / 4 },
      run: () => ({}),
      example: { params: { query: word() } },
    }),
  );
}

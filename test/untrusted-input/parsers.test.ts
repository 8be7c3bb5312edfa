// Twice the input is twice the work, whatever its content: the authors of what we read cannot block us with it.
import { describe, expect, it } from "vitest";
import { PARSERS, type Parser } from "./parsers.ts";

/** For input twice as long. A ratio of two is linear, four is quadratic. */
const RATIO_MAX = 2.5;
/**
 * Shorter times are not compared with their double, as the garbage collector weighs as much; quadratic work takes far more at these sizes.
 */
const MS_MIN = 15;
const TRIES = 20;

async function msOf({ of }: Parser, size: number): Promise<number> {
  const run = of(size);
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The minimum of the tries so far is the work itself; anything above it is the machine's noise. */
async function ratioOf(parser: Parser, size = parser.size): Promise<{ readonly ratio: number; readonly ms: number }> {
  let [one, two] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < TRIES; tries++) {
    // The longer input first: what the first run takes longer can only raise the ratio.
    two = Math.min(two, await msOf(parser, 2 * size));
    if (two < MS_MIN) break;
    one = Math.min(one, await msOf(parser, size));
    if (two <= RATIO_MAX * one) break;
  }
  return { ratio: two < MS_MIN ? 0 : two / one, ms: two };
}

describe("reading twice as much takes at most two and a half times as long", () => {
  it.each(PARSERS.map((parser) => [parser.file, parser.what, parser] as const))(
    "%s: %s",
    async (_file, _what, parser) => {
      const { ms, ...first } = await ratioOf(parser);
      let { ratio } = first;
      // Garbage collection sets in at some size, for any parser, while quadratic work shows at every size.
      for (const times of [2, 4]) {
        if (ratio <= RATIO_MAX) break;
        ({ ratio } = await ratioOf(parser, times * parser.size));
      }
      expect(ratio).toBeLessThanOrEqual(RATIO_MAX);
      expect(ms).toBeLessThan(2_000);
    },
  );
});

// Twice the input is twice the work, whatever it is made of: who writes what we read cannot stop us with it.
import { describe, expect, it } from "vitest";
import { PARSERS, type Parser } from "./parsers.ts";

/** Of input twice as long. Twice is linear, four times is quadratic. */
const RATIO_MAX = 2.5;
/** What takes less is not measured against its double, as the collector weighs as much; what is quadratic takes far more at these sizes. */
const MS_MIN = 15;
const TRIES = 20;

async function msOf({ of }: Parser, size: number): Promise<number> {
  const run = of(size);
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** The least of the tries so far is the work itself; what is beyond it is the machine's. */
async function ratioOf(parser: Parser, size = parser.size): Promise<{ readonly ratio: number; readonly ms: number }> {
  let [one, two] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < TRIES; tries++) {
    one = Math.min(one, await msOf(parser, size));
    two = Math.min(two, await msOf(parser, 2 * size));
    if (tries >= 1 && (two < MS_MIN || two <= RATIO_MAX * one)) break;
  }
  return { ratio: two < MS_MIN ? 0 : two / one, ms: two };
}

describe("reading twice as much takes at most two and a half times as long", () => {
  it.each(PARSERS.map((parser) => [parser.file, parser.what, parser] as const))(
    "%s: %s",
    async (_file, _what, parser) => {
      const { ratio: seen, ms } = await ratioOf(parser);
      // The collector sets in at some size, whatever is read: what is quadratic is so at every size.
      const ratio = seen <= RATIO_MAX ? seen : Math.min(seen, (await ratioOf(parser, 2 * parser.size)).ratio);
      expect(ratio).toBeLessThanOrEqual(RATIO_MAX);
      expect(ms).toBeLessThan(2_000);
    },
  );
});

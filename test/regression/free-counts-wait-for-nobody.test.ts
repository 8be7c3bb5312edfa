// Counts that nobody pays for stood in line with those that a call waits for: a flood of them held every payer's calls up.
import { expect, it } from "vitest";
import { tokenEstimates } from "../../src/chat/estimate-tokens.ts";
import type { TokenCounter } from "../../src/chat/token-counter.ts";

it("counts a few texts at once, and takes the others by their length", async () => {
  const waiting: (() => void)[] = [];
  const counter: Pick<TokenCounter, "count"> = {
    count: () => new Promise((resolve) => waiting.push(() => resolve(7))),
  };
  const estimate = tokenEstimates(counter as TokenCounter);
  const counted = Array.from({ length: 8 }, () => estimate("some words"));
  expect(await estimate("x".repeat(30))).toBe(10);
  expect(waiting).toHaveLength(8);
  for (const done of waiting.splice(0)) done();
  expect(await Promise.all(counted)).toEqual(Array(8).fill(7));
  const next = estimate("some words");
  expect(waiting).toHaveLength(1);
  waiting[0]?.();
  expect(await next).toBe(7);
});

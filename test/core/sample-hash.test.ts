import { expect, it } from "vitest";
import { sampleHash } from "../../src/core/sample-hash.ts";

const hashOf = (text: string) => sampleHash(Buffer.from(text));

it("tells requests apart by any byte of a short one, and by the length of any", () => {
  expect(hashOf('{"query":"tea"}')).toBe(hashOf('{"query":"tea"}'));
  const texts = ["", '{"query":"tea"}', '{"query":"sea"}', '{"query":"teas"}', "a".repeat(5_000), "a".repeat(5_001)];
  expect(new Set(texts.map(hashOf)).size).toBe(texts.length);
});

it("is short, and fast for a long request", () => {
  expect(hashOf("x".repeat(1_000_000)).length).toBeLessThan(16);
});

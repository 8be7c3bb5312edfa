// Real token counts: exact for ordinary text, and fast for text made to be slow.
import { get_encoding } from "tiktoken";
import { afterAll, describe, expect, it } from "vitest";
import { createTokenCounter } from "../../../src/models/chat/token-counter.ts";

const counter = createTokenCounter();
const encoding = get_encoding("o200k_base");

afterAll(() => counter.close());

function exact(text: string): number {
  return encoding.encode_ordinary(text).length;
}

describe("ordinary text", () => {
  it.each([
    "",
    "hello world",
    "The quick brown fox jumps over the lazy dog.\n".repeat(200),
    "const x = { a: [1, 2, 3], b: 'c' };\n    return x;\n".repeat(100),
    "价格是多少？今天天气很好，我们去公园吧。\n".repeat(10),
    "👩‍👩‍👧‍👦 \ud800 \u0000 é",
  ])("is counted exactly: %j", async (text) => {
    expect(await counter.count(text)).toBe(exact(text));
  });
});

describe("a run without a break", () => {
  it.each(["a", " ", "字", "😀", "\ud800", "."])("of %j takes no time that grows with its square", async (unit) => {
    await counter.count("warm");
    const before = process.cpuUsage();
    const tokens = await counter.count(unit.repeat(200_000 / unit.length));
    // Without a cut each takes more than a minute of CPU time.
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000_000).toBeLessThan(5);
    const some = 4_096;
    const ratio = exact(unit.repeat(some / unit.length)) / some;
    expect(Math.abs(tokens / 200_000 - ratio)).toBeLessThanOrEqual(1 / 256);
  });
});

it("a text too long to count is counted by its beginning", async () => {
  const text = "light road house ".repeat(60_000);
  const tokens = await counter.count(text);
  expect(Math.abs(tokens / (3 * 60_000) - 1)).toBeLessThan(0.01);
});

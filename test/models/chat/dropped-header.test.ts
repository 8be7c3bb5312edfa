// The header that names dropped fields: enough to find them, and never too long to be read.
import { describe, expect, it } from "vitest";
import { headerLine } from "../../../src/edge/http/head-lines.ts";
import { droppedHeader, listed } from "../../../src/models/chat/dropped-header.ts";

const many = (count: number, chars: number) =>
  Array.from({ length: count }, (_, at) => String(at).padStart(chars, "n"));

describe("names of fields", () => {
  it("are all told where there are few", () => {
    expect(listed(["store", "messages.foo"])).toBe("store,messages.foo");
    expect(droppedHeader([], false)).toEqual({});
  });

  it.each([
    [21, 5, "+1 more"],
    [1_000, 5, "+980 more"],
    [20, 200, "+16 more"],
    [2, 2_000, "+1 more"],
  ])("%i of %i characters each are counted behind those that fit", (count, chars, rest) => {
    const text = listed(many(count, chars));
    expect(text.split(",").at(-1)).toBe(rest);
    expect(text.length).toBeLessThanOrEqual(Math.max(1_000, chars) + 20);
  });
});

it("no header is longer than a client would read, whatever it is made of", () => {
  expect(headerLine("x", "a".repeat(100_000)).length).toBeLessThan(8_010);
  expect(headerLine("x", "a\r\nb".repeat(100_000))).toMatch(/^\r\nx: [ab?]+$/);
});

// What callers get about an invalid field: its name, and what would be valid.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { readFields } from "../../src/core/field-issues.ts";

const page = z.url({ protocol: /^https?$/ });

/** The issues of a value, as `path: message`. */
function said(schema: z.ZodType, value: unknown): readonly string[] {
  const read = readFields(schema, value);
  return "data" in read
    ? []
    : read.map(({ path, message, code }) => `${path}: ${message}${code === "bad_url" ? " [url]" : ""}`);
}

const one = (schema: z.ZodType, value: unknown) => said(z.strictObject({ field: schema }), { field: value });
const URL_WORDS = "must be an http or https address such as https://example.com/page";

describe("a field that is wrong is told in words that say what would be right", () => {
  test.each<[words: string, schema: z.ZodType, value: unknown]>([
    ["is missing, must be a string", z.string(), undefined],
    ["is missing, must be a whole number", z.int(), undefined],
    ["is missing, must be a list", z.array(z.string()), undefined],
    ["is missing, must be a string or a list", z.union([z.string(), z.array(z.string())]), undefined],
    ["is missing, must be one of pro, ultra", z.enum(["pro", "ultra"]), undefined],
    ["must be a string", z.string(), 7],
    ["must be a number", z.number(), "7"],
    ["must be a whole number", z.int(), 1.5],
    ["must be true or false", z.boolean(), "yes"],
    ["must be an object", z.strictObject({}), []],
    ["must be an object", z.record(z.string(), z.json()), 1],
    ["must be a string or a whole number", z.union([z.string(), z.int()]), true],
    ["must not be empty", z.string().min(1), ""],
    ["must have at least 3 characters", z.string().min(3), "ab"],
    ["must have at most 1 character", z.string().max(1), "ab"],
    ["must have exactly 2 characters", z.string().length(2), "abc"],
    ["must not be empty", z.array(z.string()).min(1), []],
    ["must have at most 1 item", z.array(z.string()).max(1), ["a", "b"]],
    ["must be at least 2", z.int().min(2), 1],
    ["must be at most 2", z.int().max(2), 3],
    ["must be more than 0", z.number().positive(), 0],
    ["must be one of a, b", z.enum(["a", "b"]), "c"],
    ["must be a", z.literal("a"), "c"],
    ["must match /^[a-z]+$/", z.string().regex(/^[a-z]+$/), "A"],
    ["must be small letters", z.string().regex(/^[a-z]+$/, "must be small letters"), "A"],
    ["must be a date that exists, as YYYY-MM-DD", z.iso.date(), "yesterday"],
    ["must be base64", z.base64(), "***"],
    [`${URL_WORDS} [url]`, page, "example"],
    [`${URL_WORDS} [url]`, page, "ftp://example.com/x"],
    [`${URL_WORDS} [url]`, page.or(z.array(page)), "example"],
    [
      "must be a page [url]",
      z.string().refine(() => false, { error: "must be a page", params: { format: "url" } }),
      "x",
    ],
    ["is not valid", z.string().refine(() => false), "x"],
    ["must be text or parts", z.union([z.string(), z.array(z.string())], "must be text or parts"), 7],
    ["must have at most 1 item", z.union([z.string(), z.array(z.string()).max(1)], "must be text"), ["a", "b"]],
  ])("%s", (words, schema, value) => {
    expect(one(schema, value)).toEqual([`field: ${words}`]);
  });

  test("by the path to it", () => {
    const schema = z.strictObject({
      urls: z.array(page),
      of: z.strictObject({ text: z.boolean().or(z.strictObject({ max: z.int() })) }),
    });
    expect(said(schema, { urls: ["https://example.com", "example"], of: { text: { max: "1" } } })).toEqual([
      `urls.1: ${URL_WORDS} [url]`,
      "of.text.max: must be a whole number",
    ]);
  });

  test("as many as anybody reads", () => {
    const schema = z.strictObject({ texts: z.array(z.string()) });
    expect(said(schema, { texts: Array(10_000).fill(1) })).toHaveLength(100);
    const names = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`name${at}`, 1]));
    expect(said(z.strictObject({}), names)).toHaveLength(100);
  });

  test("a name that there is not, with those that there are", () => {
    expect(said(z.strictObject({ q: z.string(), count: z.int() }), { q: "a", count: 1, limit: 2 })).toEqual([
      "limit: is no field here (there are q, count)",
    ]);
    expect(said(z.strictObject({}), { limit: 2 })).toEqual(["limit: is no field here"]);
    expect(said(z.strictObject({ of: z.strictObject({}) }), { of: { limit: 2 } })).toEqual([
      "of.limit: is no field here",
    ]);
  });
});

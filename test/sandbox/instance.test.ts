// The values that the sandbox generates for a schema, such as the arguments of its tool calls, are valid for the schema.
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { instanceOf } from "../../src/sandbox/instance.ts";

const INTEGERS = { minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991 };

describe("numbers are within every bound at once", () => {
  it.each([
    { type: "integer", exclusiveMinimum: 0 },
    { type: "integer", ...INTEGERS, exclusiveMinimum: 0 },
    { type: "integer", ...INTEGERS, exclusiveMaximum: 0 },
    { type: "integer", exclusiveMinimum: 4, exclusiveMaximum: 6 },
    { type: "integer", minimum: 3, exclusiveMinimum: 1, maximum: 3 },
    { type: "integer", exclusiveMaximum: -5 },
    { type: "integer", minimum: 0.5 },
    { type: "number", exclusiveMinimum: 0, maximum: 1 },
    { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.001 },
    { type: "number", exclusiveMinimum: 0, multipleOf: 0.5 },
  ])("%j", (schema) => {
    const accepts = new Ajv2020().compile(schema);
    const made = [0, 0.000001, 0.25, 0.5, 0.999999].map((drawn) => instanceOf(schema, () => drawn));
    expect(made.filter((value) => !accepts(value))).toEqual([]);
  });

  it("a bound of an older schema that is itself out", () => {
    expect(instanceOf({ type: "integer", minimum: 0, exclusiveMinimum: true }, () => 0)).toBe(1);
    expect(instanceOf({ type: "integer", minimum: 0, maximum: 1, exclusiveMaximum: true }, () => 0.999)).toBe(0);
  });
});

const Deep: Record<string, unknown> = { type: "object", properties: {} };
for (let at = 0; at < 30; at++) (Deep.properties as Record<string, unknown>)[`p${at}`] = { $ref: "#" };

it.each([
  ["a list of a hundred million", { type: "array", items: {}, minItems: 1e8 }],
  ["lists in lists", { type: "array", minItems: 2_000, items: { type: "array", minItems: 2_000, items: {} } }],
  ["a text of half a gigabyte", { type: "string", minLength: 5e8 }],
  ["an object of itself, thirty times", Deep],
  ["a long constant, ten thousand times", { type: "array", minItems: 10_000, items: { const: "x".repeat(4_000) } }],
  ["a long choice, ten thousand times", { type: "array", minItems: 10_000, items: { enum: ["x".repeat(4_000)] } }],
  [
    "a property with a long name, ten thousand times",
    { type: "array", minItems: 10_000, items: { type: "object", properties: { ["x".repeat(4_000)]: {} } } },
  ],
])("%s costs no more than a small value", (_, schema) => {
  expect(JSON.stringify(instanceOf(schema, () => 0.5)).length).toBeLessThan(2_000_000);
});

const wide = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`p${at}`, { type: "string" }]));
/** Deep enough that only required properties are filled. */
let WideDeep: object = {
  type: "array",
  minItems: 10_000,
  items: { type: "object", properties: wide, required: ["p0", ...Object.keys(wide).map((name) => `no ${name}`)] },
};
for (let at = 0; at < 5; at++) WideDeep = { type: "array", maxItems: 1, items: WideDeep };

it.each([
  [
    "a long reference",
    { type: "array", minItems: 10_000, items: { $ref: `#/${"a/".repeat(2_000)}` }, a: { type: "string" } },
  ],
  ["an object with many properties, most left out", WideDeep],
  ["a union of many fields", { type: "array", minItems: 10_000, items: { allOf: [wide, { type: "string" }] } }],
])("%s counts as several values", (_, schema) => {
  let draws = 0;
  instanceOf(schema as Record<string, unknown>, () => {
    draws += 1;
    return 0.5;
  });
  expect(draws).toBeLessThan(1_000);
});

it.each([
  [{ type: "string", format: "constructor" }, expect.stringMatching(/^\w+ \w+$/)],
  [{ type: "string", format: "date" }, "2026-01-02"],
  [{ type: ["null", "integer"], minimum: 3, maximum: 3 }, 3],
  [{ type: "x".repeat(100), properties: {} }, {}],
])("makes a value of %j", (schema, value) => {
  expect(instanceOf(schema, () => 0.5)).toEqual(value);
});

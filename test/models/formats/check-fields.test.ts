// A table of field types and a zod schema of the same meaning report the same first issue, in the same words.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { readFields } from "../../../src/core/field-issues.ts";
import { issuesIn } from "../../../src/models/formats/check-fields.ts";
import {
  anyObject,
  boolean,
  cases,
  compileTable,
  type FieldSpec,
  fields,
  list,
  number,
  object,
  oneOf,
  required,
  string,
  textOr,
  whole,
} from "../../../src/models/formats/field-table.ts";
import { runs } from "../../support/runs.ts";

const TYPES: readonly [what: string, spec: FieldSpec, schema: z.ZodType][] = [
  ["a string", string(1, 3), z.string().min(1).max(3).nullish()],
  ["a required string", required(string(2)), z.string().min(2)],
  ["true or false", boolean, z.boolean().nullish()],
  ["a number", number(-2, 2), z.number().min(-2).max(2).nullish()],
  ["a whole number", whole(1, 8), z.number().int().min(1).max(8).nullish()],
  ["a word", required(oneOf("user", "system")), z.enum(["user", "system"])],
  ["a list", list(string(), 2, 1), z.array(z.string()).min(1).max(2).nullish()],
  [
    "an object",
    object({ name: required(string()), n: whole() }),
    z.object({ name: z.string(), n: z.number().int().nullish() }).nullish(),
  ],
  [
    "text or a list",
    textOr(list(string(), 2), "must be text or a list"),
    z.union([z.string(), z.array(z.string()).max(2)], "must be text or a list").nullish(),
  ],
  [
    "text or an object",
    textOr(object({ url: required(string()) }), "must be an object with a url"),
    z.union([z.string(), z.object({ url: z.string() })], "must be an object with a url").nullish(),
  ],
  [
    "objects by type",
    list({ ...cases("type", { text: fields({ text: string() }) }, { otherwise: fields({}) }), ...anyObject }),
    z.array(z.object({ type: z.string(), text: z.string().nullish() })).nullish(),
  ],
];

const values = fc.oneof(
  fc.constantFrom<unknown[]>(null, undefined, "", "x", "long text", "user", true, false, [], {}, [[]], [null]),
  fc.constantFrom<unknown[]>(0, 1, -1, 2, 3, 9, 1.5, -0, 2 ** 53, -(2 ** 53), 1e308, Number.POSITIVE_INFINITY),
  fc.constantFrom<unknown[]>({ name: "f" }, { name: 1 }, { name: "f", n: 1.5 }, { url: "u" }, { url: 1 }),
  fc.constantFrom<unknown[]>([{ type: "text" }], [{ type: 1 }], [{ type: "text", text: 1 }], ["a", 1], ["a", "b", "c"]),
  fc.jsonValue({ maxDepth: 2 }),
);

describe("a field that must be", () => {
  it.each(TYPES)("%s", (_, spec, schema) => {
    const field = compileTable(spec);
    fc.assert(
      fc.property(values, (value) => {
        const read = readFields(schema, value);
        expect(issuesIn(value, field)[0]).toEqual("data" in read ? undefined : read[0]);
      }),
      { numRuns: runs(200, 1_000) },
    );
  });
});

it("a long list of wrong items reports a hundred of them", () => {
  const issues = issuesIn(Array(100_000).fill(1), compileTable(list(string())));
  expect([issues.length, issues[99]]).toEqual([100, { path: "99", message: "must be a string" }]);
});

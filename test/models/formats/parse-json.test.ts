// Bodies that would cost more than their size suggests are refused before they are parsed.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalIn } from "../../../src/core/errors.ts";
import { NAMES_MAX, VALUES_MAX } from "../../../src/core/json-bytes.ts";
import { parseJson } from "../../../src/models/formats/parse-json.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";

const MIB = 1024 * 1024;

function told(text: string | Buffer): string {
  try {
    parseJson(Buffer.from(text as string));
    return "json";
  } catch (error) {
    return refusalIn(error).message;
  }
}

describe("what is refused", () => {
  it.each([
    ["brackets", "[".repeat(32 * MIB), "values"],
    ["objects", `[${"{},".repeat(2_000_000)}{}]`, "values"],
    ["a string that never ends behind brackets", `${"[".repeat(200_001)}"`, "values"],
    ["one number too many", JSON.stringify(Array(200_000).fill(1)), "values"],
    ["keys", `{${'"a":1,'.repeat(2_000_000)}"b":1}`, "names of fields"],
    ["one name too many", `{${'"":1,'.repeat(20_000)}"":1}`, "names of fields"],
    ["names at many levels", JSON.stringify(Array(10_001).fill({ a: { b: 1 } })), "names of fields"],
  ])("too many %s, in no time and memory", async (_, text, what) => {
    const before = process.memoryUsage().rss;
    const message = `body: more than ${what === "values" ? 200_000 : 20_000} ${what}`;
    expect(await cpuMsOf(() => expect(told(text)).toBe(message))).toBeLessThan(4_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MIB);
  });

  it("more than 128 levels", () => {
    expect(told(`${"[".repeat(129)}${"]".repeat(129)}`)).toBe("body: nested deeper than 128 levels");
    expect(told(`${"[".repeat(128)}${"]".repeat(128)}`)).toBe("json");
  });

  it("what is no UTF-8, since its replacement would be longer and say something else", () => {
    expect(told(Buffer.concat([Buffer.from('"'), Buffer.alloc(100, 0xff), Buffer.from('"')]))).toBe(
      "body: not valid UTF-8",
    );
  });
});

describe("what looks like it and is not", () => {
  it.each([
    ["brackets and colons in a string", JSON.stringify("[{:".repeat(1_000_000))],
    ["quotes in a string", JSON.stringify(`"[${'"'.repeat(1_000_000)}[{:`)],
    ["backslashes at the end of strings", JSON.stringify(Array(100_000).fill("\\[:\\\\"))],
    ["as many numbers as may be, and the list", ` [ ${Array(199_999).fill(1).join(" , ")} ] `],
    ["as many empty lists", JSON.stringify(Array(199_999).fill([]))],
    ["as many names as may be", `{${'"":1,'.repeat(19_999)}"":1}`],
    [
      "names with quotes, backslashes and marks in them",
      JSON.stringify({ ['":,[{\\'.repeat(20_000)]: '\\"'.repeat(60_000) }),
    ],
  ])("%s", (_, text) => {
    expect(text.length).toBeGreaterThan(100_000);
    expect(told(text)).toBe("json");
  });
});

describe("what a body holds", () => {
  const counted = (value: unknown): { names: number; values: number } => {
    if (typeof value !== "object" || value === null) return { names: 0, values: 1 };
    const own = { names: Array.isArray(value) ? 0 : Object.keys(value).length, values: 1 };
    return Object.values(value)
      .map(counted)
      .reduce((sum, { names, values }) => ({ names: sum.names + names, values: sum.values + values }), own);
  };

  it("is counted as the parser finds it", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1, 2), (value, indent) => {
        const { names, values } = counted(value);
        // This many more names, or values, reach the bound; one more exceeds it.
        const nameless = VALUES_MAX - values;
        const full = (more: number) =>
          told(`[${"1,".repeat(nameless - 1 + more)}${JSON.stringify(value, null, indent)}]`);
        expect([full(0), full(1)]).toEqual(["json", `body: more than ${VALUES_MAX} values`]);
        const named = (more: number) =>
          told(`[{${'"":1,'.repeat(NAMES_MAX - names - 1 + more)}"":1},${JSON.stringify(value, null, indent)}]`);
        expect([named(0), named(1)]).toEqual(["json", `body: more than ${NAMES_MAX} names of fields`]);
      }),
      { numRuns: 30 },
    );
  });
});

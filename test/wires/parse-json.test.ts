// Bodies that would cost more than they weigh are refused before they are parsed.
import { describe, expect, it } from "vitest";
import { GatewayError } from "../../src/errors.ts";
import { parseJson } from "../../src/wires/parse-json.ts";

const MIB = 1024 * 1024;

function told(text: string | Buffer): string {
  const json = parseJson(Buffer.from(text as string));
  return json instanceof GatewayError ? json.message : "json";
}

describe("what is refused", () => {
  it.each([
    ["brackets", "[".repeat(32 * MIB)],
    ["objects", `[${"{},".repeat(2_000_000)}{}]`],
    ["keys", `{${'"a":1,'.repeat(2_000_000)}"b":1}`],
    ["a string that never ends among them", `${"[".repeat(1_000_001)}"`],
  ])("more than a million %s, in no time and memory", (_, text) => {
    const before = process.memoryUsage().rss;
    const startedMs = performance.now();
    expect(told(text)).toBe("body: more than 1000000 objects, arrays and keys");
    expect(performance.now() - startedMs).toBeLessThan(3_000);
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
    ["a million numbers", JSON.stringify(Array(1_000_000).fill(1))],
  ])("%s", (_, text) => {
    expect(text.length).toBeGreaterThan(1_000_000);
    expect(told(text)).toBe("json");
  });
});

// `tollgate certify` without keys: sends every question to every vendor's mock.
import { expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { folderForTest } from "../support/for-file.ts";

interface Certificate {
  readonly stand_ins: boolean;
  readonly spent_nano_usd: number;
  readonly calls: readonly { readonly kind: string; readonly verdict: string }[];
}

test("without keys asks every stand-in, and finds nothing", async () => {
  const dir = folderForTest("certify-");
  const out: string[] = [];
  const code = await run(["certify", "--json"], {
    environment: { DATA_DIR: dir },
    out: (line) => out.push(line),
    err() {},
  });
  const { calls, stand_ins, spent_nano_usd } = JSON.parse(out.join("\n")) as Certificate;
  expect(calls.filter(({ verdict }) => verdict === "differs")).toEqual([]);
  expect([code, stand_ins, spent_nano_usd]).toEqual([0, true, 0]);
  expect(new Set(calls.filter(({ verdict }) => verdict === "fine").map(({ kind }) => kind))).toEqual(
    new Set(["whole", "streamed", "tools", "schema", "refusal", "action"]),
  );
});

import { describe, expect, it } from "vitest";
import { openStores, type Stores } from "../../../src/gateway/stores.ts";
import { prepareEnvironment, readConfig } from "../../../src/platform/config.ts";
import { createJobRows, JOB_ROW } from "../../../src/platform/records/job-rows.ts";
import { folderForFile, forFile } from "../../support/for-file.ts";

prepareEnvironment();
const folder = folderForFile("job-rows-");
const onFatal = (error: unknown) => {
  throw error;
};
const stores = forFile(
  await openStores(readConfig({ DATA_DIR: folder }), { onFatal, onBroken: onFatal, archiveDir: folder }),
);

const rowsWith = (bytesMax: number) => createJobRows(stores.records, bytesMax);

describe("the rows of a job's result", () => {
  it("are given back in the order of their names, long ones as they were", async () => {
    const rows = rowsWith(1_000_000);
    const long = { content: "ümlaut 漢字 ".repeat(50_000) };
    const first = await rows.put("acct:a", { id: 1 });
    const second = await rows.put("acct:a", long);
    expect(await rows.read([second, first])).toEqual([long, { id: 1 }]);
    const stored = await stores.records.get(JOB_ROW, second);
    expect(stored?.value.length).toBeLessThan(20_000);
  });

  it("are read together where they are short, and one by one where they are long", async () => {
    const asked: string[] = [];
    const counted: Pick<Stores["records"], "get" | "put" | "sizes"> = {
      put: (record) => stores.records.put(record),
      sizes: (kind, ids) => {
        asked.push(`sizes of ${ids.length}`);
        return stores.records.sizes(kind, ids);
      },
      get: (kind, id) => {
        asked.push("a row");
        return stores.records.get(kind, id);
      },
    };
    const rows = createJobRows(counted, 1_000_000);
    const told = [{ at: 0 }, { at: 1 }, { at: 2, text: "x".repeat(60_000) }, { at: 3, text: "y".repeat(60_000) }];
    const names: string[] = [];
    for (const row of told) names.push(await rows.put("acct:c", row));
    const texts: string[] = [];
    const asking: number[] = [];
    for await (const text of (await rows.texts(names)) ?? []) {
      texts.push(Buffer.from(text).toString("utf8"));
      asking.push(asked.length);
    }
    expect(texts).toEqual(told.map((row) => JSON.stringify(row)));
    expect(asked[0]).toBe("sizes of 4");
    expect(asking).toEqual([4, 4, 4, 5]);
  });

  it("are kept for seven days", async () => {
    const stored = await stores.records.get(JOB_ROW, await rowsWith(1_000_000).put("acct:a", {}));
    expect((stored?.expiresAtMs ?? 0) - (stored?.createdAtMs ?? 0)).toBe(7 * 86_400_000);
  });

  it("share a bound of their payer: the oldest leave, and what named them is told", async () => {
    const rows = rowsWith(10_000);
    const names: string[] = [];
    for (let at = 0; at < 4; at++) names.push(await rows.put("acct:b", { at, text: "x".repeat(3_000) }));
    expect(await rows.read(names)).toBeNull();
    expect(await rows.read(names.slice(2))).toHaveLength(2);
  });
});

// Every version of a price: one record for the adapters' own, one per list; and the older format, a single record for all, is still read.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { keepPriceVersions, keptPrice } from "../../src/gateway/price-versions.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../src/platform/storage/sqlite-thread.ts";
import { catalogOf, priced, vendor } from "../catalog/catalog-of.ts";
import { removeFolder } from "../support/remove-folder.ts";

const STAMP = "20261120T000000";
const OWN = "lab/own@2026-01-01";
const LISTED = `lab/listed@2026-01-01.${STAMP}`;

const models = { own: priced("1", "2"), listed: priced("3", "4", { taken: STAMP }) };
const catalog = catalogOf({ adapters: { lab: vendor(models, { maker: "lab" }) } });

it("is kept once by whose it is, beside what was kept before, and stays as it was first sold", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-versions-"));
  const thread = await openSqliteThread({
    file: join(folder, "tollgate.db"),
    units: { records: RECORDS_UNIT },
    clock: systemClock,
    disk: { freeBytesMin: 0, ballastBytes: 0 },
    onFatal: (error) => expect.unreachable(error.message),
  });
  onTestFinished(async () => {
    await thread.close();
    removeFolder(folder);
  });
  const records = sqliteRecords(thread);
  const old = {
    version: `lab/old@2025-01-01.${STAMP}`,
    first_sold: "2025-01-01T00:00:00Z",
    usd: {},
    steps: [],
    hours: [],
  };
  const put = { kind: "price_versions", id: "all", payer: null, ttlMs: null, ifVersion: null };
  await records.put({ ...put, value: JSON.stringify({ [old.version]: old }) });
  const keep = async () => {
    const versions = keepPriceVersions(
      records,
      () => catalog,
      (error) => expect.unreachable(String(error)),
    );
    versions.note();
    await versions.stop();
  };
  await keep();
  expect(await keptPrice(records, OWN)).toMatchObject({ version: OWN, usd: { input: "1", output: "2" } });
  expect(await keptPrice(records, LISTED)).toMatchObject({ version: LISTED, usd: { input: "3", output: "4" } });
  expect(await keptPrice(records, old.version)).toEqual(old);
  expect(await keptPrice(records, "lab/none@2026-01-01")).toBeNull();
  const all = await records.get("price_versions", "all");
  const ofList = await records.get("price_versions", STAMP);
  expect(Object.keys(JSON.parse(all?.value ?? "{}"))).toEqual([old.version, OWN]);
  expect(Object.keys(JSON.parse(ofList?.value ?? "{}"))).toEqual([LISTED]);
  await keep();
  expect((await records.get("price_versions", STAMP))?.version).toBe(ofList?.version);
});

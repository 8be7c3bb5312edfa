// How long a vendor's id belongs to its payer: 90 days, or as many as the action says.
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { foreignId, keepIssued } from "../../../src/actions/run/vendor-ids.ts";
import type { ActionOffer } from "../../../src/catalog/catalog.ts";
import type { Payer } from "../../../src/core/plan.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { RECORDS_UNIT, sqliteRecords } from "../../../src/platform/records/sqlite-records.ts";
import { openSqliteThread } from "../../../src/platform/storage/sqlite-thread.ts";
import { folderForFile } from "../../support/for-file.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";

const DAY_MS = 86_400_000;
const folder = folderForFile("tollgate-ids-");
const clock = manualClock(Date.UTC(2026, 0, 1));
const payer: Payer = { id: "acct:ada", sandbox: false };
const catalog = await shippedCatalog();

let records: Records;
let close: () => Promise<void>;
beforeAll(async () => {
  const thread = await openSqliteThread({
    file: join(folder, "tollgate.db"),
    units: { records: RECORDS_UNIT },
    clock,
    disk: { freeBytesMin: 0, ballastBytes: 0 },
    onFatal: (error) => console.error("the store broke:", error),
  });
  records = sqliteRecords(thread);
  close = () => thread.close();
});
afterAll(async () => {
  await close();
});

function offerOf(id: string): ActionOffer {
  const offer = catalog.action(id, { sandbox: true })?.offers[0];
  if (offer === undefined) throw new Error(`nobody sells ${id}`);
  return offer;
}

it("a crawl is forgotten after 90 days; a mailbox that was bought for good is still there years later", async () => {
  const known = async () => [
    (await foreignId(offerOf("firecrawl/crawl-status"), { id: "c1" }, { payer, records })) === null,
    (await foreignId(offerOf("agentmail/send"), { inbox_id: "a@b.example" }, { payer, records })) === null,
  ];
  await keepIssued(offerOf("firecrawl/crawl"), { id: "c1" }, { payer, records });
  await keepIssued(offerOf("agentmail/create_inbox"), { inbox_id: "a@b.example" }, { payer, records });
  expect(await known()).toEqual([true, true]);
  clock.setEpochMs(clock.epochMs() + 91 * DAY_MS);
  expect(await known()).toEqual([false, true]);
  clock.setEpochMs(clock.epochMs() + 3_650 * DAY_MS);
  expect(await known()).toEqual([false, true]);
});

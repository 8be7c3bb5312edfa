// How often a vendor is polled about its asynchronous jobs, with the test's own clock.
import { expect, it } from "vitest";
import { keepVendorJob, vendorJob } from "../../../src/actions/run/vendor-jobs.ts";
import type { PollSpec } from "../../../src/catalog/action.ts";
import type { SoldAction } from "../../../src/catalog/catalog.ts";
import type { InnerAnswer } from "../../../src/catalog/local-action.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { folderForFile, forFile } from "../../support/for-file.ts";
import { manualClock } from "../../support/manual-clock.ts";

const PAYER = { id: "acct:ada", sandbox: false } as const;
const poll: PollSpec = { action: "status", param: "id", at: "/status", done: ["done"], failed: ["failed"] };
const offer = { id: "acme/crawl", adapter: { id: "acme" }, spec: { issues: [{ kind: "crawl", at: "/id", poll }] } };
const clock = manualClock(1_700_000_000_000);
/** The vendor's answer, and how often it was called. */
let says: unknown = {};
let asked = 0;

const folder = folderForFile("tollgate-vendor-jobs-");
const stores = forFile(
  await openStores(readConfig({ DATA_DIR: folder }), {
    onFatal(error) {
      throw error;
    },
  }),
);

const keep = (id: string) =>
  keepVendorJob({ offerId: "acme/crawl", kind: "crawl", id }, { payer: PAYER, records: stores.records });
const ask = (id: string) =>
  vendorJob(
    id,
    {
      payer: PAYER,
      async call({ action, params }): Promise<InnerAnswer> {
        asked += 1;
        expect([action, params]).toEqual(["acme/status", { id }]);
        return { ok: true, id: "tx.1", action, provider: "acme", data: says, isMiss: false, ms: 1 };
      },
    },
    { records: stores.records, clock, sold: () => ({ offers: [offer] }) as unknown as SoldAction },
  );

it("asks once in three seconds while the work goes on, and never again once it is over", async () => {
  await keep("one");
  asked = 0;
  says = { status: "working" };
  for (let at = 0; at < 4; at++) {
    expect(await ask("one")).toEqual({ job_id: "one", status: "running", charged_cents: 0 });
    clock.advance(1_000);
  }
  expect(asked).toBe(2);
  clock.advance(3_000);
  says = { status: "done", pages: 3 };
  for (let at = 0; at < 3; at++) {
    expect(await ask("one")).toEqual({ job_id: "one", status: "succeeded", result: says, charged_cents: 0 });
    clock.advance(10_000);
  }
  expect(asked).toBe(3);
});

it("does not keep an answer above 1 MiB: it is 429 until the vendor may be asked again", async () => {
  await keep("long");
  asked = 0;
  says = { status: "done", page: "x".repeat(1_100_000) };
  expect(await ask("long")).toMatchObject({ status: "succeeded", result: says });
  clock.advance(1_500);
  const refused = await ask("long");
  expect(refused).toBeInstanceOf(GatewayError);
  expect(refused).toMatchObject({ code: "rate_limited", options: { retryAfterSeconds: 2 } });
  clock.advance(1_500);
  expect(await ask("long")).toMatchObject({ status: "succeeded", result: says });
  expect(asked).toBe(2);
});

// A people job whose process stops halfway: the next process continues with the unfinished rows, and each row is paid once.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { onefindDeepJob } from "../../../src/actions/composites/onefind-deep.ts";
import { findJob } from "../../../src/actions/jobs/job-record.ts";
import type { JobKind } from "../../../src/catalog/job-kind.ts";
import { nano } from "../../../src/core/money.ts";
import { Places } from "../../../src/core/places.ts";
import { openStores, type Stores } from "../../../src/gateway/stores.ts";
import type { OuterCall } from "../../../src/kernel/inner-call.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { createJobRows, type JobRows } from "../../../src/platform/records/job-rows.ts";
import { CENT, newAccount } from "../../money/ledger/requests.ts";
import { eventually } from "../../support/gateway.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { moneyOf, openJobs } from "../jobs/stage.ts";
import { type Vendor, vendorCalls } from "./deep-stage.ts";

const spec = (await shippedCatalog({})).compositeTiers.get("onefind");
if (spec?.kind !== "people-finder") throw new Error("tiers/onefind.ts finds no people");

let folder: string;
let stores: Stores;
let rows: JobRows;
let kind: JobKind;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-onefind-"));
  stores = await openStores(readConfig({ DATA_DIR: folder }), {
    onFatal(error) {
      throw error;
    },
  });
  rows = createJobRows(stores.records, 1_000_000);
  kind = onefindDeepJob({ finder: () => spec, rows, places: new Places(256) });
  await stores.ledger.openAccount(newAccount("ada", 10_000));
});
afterAll(async () => {
  const { findings } = await stores.ledger.doctor();
  await stores.close();
  removeFolder(folder);
  expect(findings).toEqual([]);
});

/** The jobs of one process, with a log of its vendor calls; null is a miss. */
function process_(self: string, vendor: Vendor, asked: string[], of: JobKind = kind) {
  const innerCalls = (outer: OuterCall) =>
    vendorCalls(outer, self, (wanted) => {
      asked.push(Object.values(wanted.params).join());
      return vendor(wanted);
    });
  return openJobs(stores, self, [of], { innerCalls });
}

const found = async () => ({ profile: { fullName: "Ada Lovelace" } });
const emails = Array.from({ length: 12 }, (_, at) => `p${at}@gmail.com`);
const work = (start: object, cents: number) => ({ job: "onefind-deep", start, amountNano: nano(cents * CENT) });

async function ended(jobId: string) {
  return eventually(async () => {
    const stored = await findJob(stores.records, jobId);
    return stored?.job.state === "succeeded" || stored?.job.state === "failed" ? stored.job : undefined;
  }, "the job's end");
}

it("rows that were finished are neither looked up nor paid again, those under way are paid once", async () => {
  const before = await moneyOf(stores);
  const first: string[] = [];
  const slow: Vendor = async ({ params }) => {
    if (Number(/\d+/.exec(String(params.email))?.[0]) < 5) return found();
    return new Promise(() => {});
  };
  const one = process_("one", slow, first);
  await one.jobs.start();
  const jobId = await one.launch("adopted", undefined, work({ rows: emails }, 200));
  await eventually(async () => {
    const { done } = ((await findJob(stores.records, jobId))?.job.progress ?? {}) as { done?: number };
    return done === 5 ? true : undefined;
  }, "five rows");
  await one.jobs.stop();
  expect(first.slice(0, 5).sort()).toEqual(emails.slice(0, 5));

  const second: string[] = [];
  const two = process_("two", found, second);
  await two.jobs.start();
  const job = await ended(jobId);
  await two.jobs.stop();
  expect(second.sort()).toEqual(emails.slice(5).sort());
  expect([job.state, job.chargedCents, job.end?.result]).toMatchObject([
    "succeeded",
    120,
    { row_count: 12, spent_cents: 120, budget_cents: 200 },
  ]);
  const read = (await rows.read(job.end?.rows ?? [])) as { input: string; charged_cents: number }[];
  expect(read.map(({ input, charged_cents }) => [input, charged_cents])).toEqual(emails.map((email) => [email, 10]));
  const after = await moneyOf(stores);
  expect([after.spent - before.spent, after.held]).toEqual([120, 0]);
});

it("a query's search is paid once, and its people are not searched for again", async () => {
  const before = await moneyOf(stores);
  const people = ["a", "b"].map((slug) => {
    return { url: `https://www.linkedin.com/in/${slug}`, entities: [{ properties: { name: `Person ${slug}` } }] };
  });
  const first: string[] = [];
  const one = process_(
    "three",
    ({ action }) => (action === "exa/search" ? Promise.resolve({ results: people }) : new Promise(() => {})),
    first,
  );
  await one.jobs.start();
  const jobId = await one.launch("searched", undefined, work({ query: "founders", limit: 2 }, 32));
  await eventually(() => (first.length === 3 ? true : undefined), "both rows under way");
  await one.jobs.stop();
  const second: string[] = [];
  const two = process_("four", async () => ({ profile: { email: ["x@example.com"] } }), second);
  await two.jobs.start();
  const job = await ended(jobId);
  await two.jobs.stop();
  expect(second.sort()).toEqual(people.map(({ url }) => url));
  expect([job.chargedCents, job.end?.result]).toMatchObject([21, { row_count: 2, find: { ok: true } }]);
  const after = await moneyOf(stores);
  expect([after.spent - before.spent, after.held]).toEqual([21, 0]);
});

it("what a step has cost whose row was not finished leaves the budget to the row that is looked up again", async () => {
  const before = await moneyOf(stores);
  const first: string[] = [];
  // For Ada, the first step succeeds and her company never answers; meanwhile the other row finishes and is saved.
  const ada = { profile: { fullName: "Ada Lovelace" } };
  const one = process_(
    "five",
    ({ action }) => (action === "tomba/enrich" ? new Promise(() => {}) : Promise.resolve(ada)),
    first,
  );
  await one.jobs.start();
  const exactly = 10 + 4 + 10;
  const jobId = await one.launch("exact", undefined, work({ rows: ["ada@example.com", "ada@gmail.com"] }, exactly));
  await eventually(async () => {
    const { done } = ((await findJob(stores.records, jobId))?.job.progress ?? {}) as { done?: number };
    return done === 1 && first.length === 3 ? true : undefined;
  }, "one row, and the other's second step");
  await one.jobs.stop();

  const second: string[] = [];
  const company = { data: { company: { name: "Example", domain: "example.com" } } };
  const two = process_("six", async ({ action }) => (action === "tomba/enrich" ? company : ada), second);
  await two.jobs.start();
  const job = await ended(jobId);
  await two.jobs.stop();
  expect(second).toEqual(["ada@example.com", "ada@example.com"]);
  const read = (await rows.read(job.end?.rows ?? [])) as { name: string; company: string | null }[];
  expect(read.map(({ name, company }) => [name, company])).toEqual([
    ["Ada Lovelace", "Example"],
    ["Ada Lovelace", null],
  ]);
  const after = await moneyOf(stores);
  expect([job.chargedCents, after.spent - before.spent, after.held]).toEqual([exactly, exactly, 0]);
});

it("a store that is away when a row is to be kept fails no job: it goes on once the store is back", async () => {
  const before = await moneyOf(stores);
  let puts = 0;
  const frail: JobRows = {
    ...rows,
    put: (payer, row) => (++puts === 2 ? Promise.reject(new Error("the store is away")) : rows.put(payer, row)),
  };
  const asked: string[] = [];
  const places = new Places(256);
  const one = process_("seven", found, asked, onefindDeepJob({ finder: () => spec, rows: frail, places }));
  await one.jobs.start();
  const job = await ended(await one.launch("frail", undefined, work({ rows: emails.slice(0, 3) }, 30)));
  await one.jobs.stop();
  expect([job.state, job.chargedCents, job.end?.rows?.length]).toEqual(["succeeded", 30, 3]);
  const after = await moneyOf(stores);
  expect([after.spent - before.spent, after.held]).toEqual([30, 0]);
});

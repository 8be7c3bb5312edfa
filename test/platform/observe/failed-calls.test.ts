import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { nano } from "../../../src/core/money.ts";
import type { FailedCallSearch } from "../../../src/core/usage-rows.ts";
import { openFailedCalls } from "../../../src/platform/observe/failed-calls.ts";
import { RequestRecord } from "../../../src/platform/observe/record.ts";
import { folderForTest } from "../../support/for-file.ts";
import { manualClock } from "../../support/manual-clock.ts";

const START_MS = Date.UTC(2026, 4, 6, 12);
const EVERYTHING: FailedCallSearch = {
  ...{ accountId: null, keyId: null, model: null, provider: null, tag: null, fromMs: null, toMs: null },
  ...{ status: "failed", limit: 1_000, cursor: null },
};
const clock = manualClock(START_MS);
let folder: string;
let file: string;
beforeEach(() => {
  folder = folderForTest("tollgate-failed-");
  file = join(folder, "failed-calls.log");
});

function record(id: number, more: Partial<RequestRecord> = {}): RequestRecord {
  const leg = {
    provider: "vendor",
    model: "maker/model",
    status: 503,
    failure: "provider_overloaded" as const,
    ms: 12.4,
  };
  return {
    ...new RequestRecord({ requestId: `req_${id}`, method: "POST", startedMs: 0 }),
    ...{ accountId: "acct_1", keyId: `key_${id}`, endpoint: "/api/llm/v1/chat/completions", operation: "chat" },
    ...{ asked: "core/cheap", status: 502, code: "upstream_error", outcome: "failed", tags: ["team=red"] },
    attempts: [{ ...leg, firstTokenMs: null, upstreamNano: nano(7) }],
    ...more,
  };
}

function open(bytesMax?: number) {
  const onBroken = (error: unknown) => {
    throw error;
  };
  return openFailedCalls({ file, clock, onBroken, ...(bytesMax === undefined ? {} : { bytesMax }) });
}

test("failed and refused calls of known keys are found by filter with their attempts; others are not noted", async () => {
  const calls = open();
  calls.note(record(1));
  calls.note(record(2, { outcome: "refused", status: 402, code: "insufficient_balance", attempts: [] }));
  calls.note(record(3, { outcome: "success", status: 200, code: null }));
  calls.note(record(4, { keyId: null, accountId: null }));
  clock.advance(1_000);
  calls.note(record(5, { accountId: "acct_2", tags: [] }));
  const ids = async (more: Partial<FailedCallSearch>) =>
    (await calls.find({ ...EVERYTHING, ...more })).rows.map(({ requestId }) => requestId);
  expect(await ids({})).toEqual(["req_5", "req_1"]);
  expect(await ids({ status: "refused" })).toEqual(["req_2"]);
  expect(await ids({ accountId: "acct_1" })).toEqual(["req_1"]);
  expect(await ids({ keyId: "key_5" })).toEqual(["req_5"]);
  expect(await ids({ tag: "team=red" })).toEqual(["req_1"]);
  expect(await ids({ model: "maker/model", provider: "vendor" })).toEqual(["req_5", "req_1"]);
  expect(await ids({ provider: "another" })).toEqual([]);
  expect(await ids({ status: null, requestId: "req_2" })).toEqual(["req_2"]);
  expect(await ids({ status: null, requestId: "req_5", accountId: "acct_1" })).toEqual([]);
  expect(await ids({ toMs: clock.epochMs() })).toEqual(["req_1"]);
  expect(await ids({ fromMs: clock.epochMs() })).toEqual(["req_5"]);
  expect((await calls.find({ ...EVERYTHING, accountId: "acct_1" })).rows[0]?.attempts).toEqual([
    { vendor: "vendor", model: "maker/model", status: 503, reason: "provider_overloaded", ms: 12, upstreamNano: 7 },
  ]);
  await calls.close();
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("the file is bounded, the oldest leave, and pages go on over both halves", async () => {
  const calls = open(40_000);
  for (let id = 0; id < 300; id++) {
    calls.note(record(id));
    await calls.flush();
  }
  expect(statSync(file).size + statSync(`${file}.1`).size).toBeLessThanOrEqual(41_000);
  const found: string[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof calls.find>> = await calls.find({ ...EVERYTHING, limit: 7, cursor });
    found.push(...page.rows.map(({ requestId }) => requestId));
    if (page.next === null) break;
    cursor = page.next;
  }
  expect(found.length).toBeGreaterThan(40);
  expect(found).toEqual(Array.from(found, (_, at) => `req_${299 - at}`));
  expect((await calls.find({ ...EVERYTHING, cursor: "1.2" })).rows).toEqual([]);
  await calls.close();
});

test("a key that is refused all the time pushes nobody else out, and a torn line is left out", async () => {
  const calls = open();
  for (let id = 0; id < 1_000; id++) calls.note(record(id, { keyId: "loud" }));
  calls.note(record(1_000));
  await calls.flush();
  expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(61);
  clock.advance(60_000);
  calls.note(record(1_001, { keyId: "loud" }));
  await calls.flush();
  rmSync(`${file}.1`, { force: true });
  const { appendFileSync } = await import("node:fs");
  appendFileSync(file, '{"requestId":"req_to');
  expect((await calls.find({ ...EVERYTHING, limit: 1 })).rows[0]?.requestId).toBe("req_1001");
  await calls.close();
});

test("an account that looks for what is not there looks through a part of the file at a time, and finds each of its own once", async () => {
  const calls = open();
  const long = ["x".repeat(20_000)];
  for (let id = 0; id < 800; id++) {
    const isOwn = id % 100 === 7;
    calls.note(record(id, { accountId: isOwn ? "acct_own" : "acct_1", tags: isOwn ? ["mine"] : long }));
    if (id % 100 === 0) await calls.flush();
  }
  await calls.flush();
  const looks = async (tag: string | null) => {
    const found: string[] = [];
    let pages = 0;
    for (let cursor: string | null = null; ; pages++) {
      const page: Awaited<ReturnType<typeof calls.find>> = await calls.find({
        ...EVERYTHING,
        ...{ accountId: "acct_own", tag, cursor },
      });
      found.push(...page.rows.map(({ requestId }) => requestId));
      if (page.next === null) return { found, pages };
      cursor = page.next;
    }
  };
  expect(await looks("none")).toEqual({ found: [], pages: 3 });
  expect((await looks(null)).found).toEqual([707, 607, 507, 407, 307, 207, 107, 7].map((id) => `req_${id}`));
  await calls.close();
});

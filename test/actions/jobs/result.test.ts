// core/result and core/cancel over HTTP: our jobs and the vendors', their owners, and the price of polling.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunningJob } from "../../../src/catalog/job-kind.ts";
import { launched, localAction } from "../../../src/catalog/local-action.ts";
import { run as runCommand } from "../../../src/cli/run.ts";
import { nano } from "../../../src/core/money.ts";
import { eventually, type TestAccount } from "../../support/gateway.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";
import { type AcmeGateway, startAcmeGateway } from "../run/acme-gateway.ts";

const CENT = 10_000_000;
/** What a job waits for before each of its steps. */
let gate: (step: number, job: RunningJob) => Promise<void> = async () => {};

const deep = localAction({
  service: "core",
  action: "deep",
  description: "Searches so many times, within its budget.",
  category: "core",
  effect: "read",
  params: z.strictObject({ times: z.int() }),
  price: { mode: "capped", cents: 10 },
  launches: { job: "deep", inFlightMax: 3 },
  run: (_, call) => launched(call),
  example: { params: { times: 3 } },
});
const kind = {
  name: "deep",
  msMax: 60_000,
  counted: "price",
  async run(job: RunningJob) {
    const { times } = job.start as { times: number };
    let done = 0;
    while (done < times && !job.signal.aborted) {
      await gate(done, job);
      const answer = await job.call({ action: "acme/search", params: { q: "tea" } });
      if (!answer.ok) break;
      done += 1;
      await job.save({ done, total: times });
    }
    return { status: done > 0 ? "succeeded" : "failed", result: { done }, chargeNano: nano(done * CENT) } as const;
  },
} as const;

let gateway: AcmeGateway;
let vendor: VendorServer;
let account: TestAccount;
beforeAll(async () => {
  vendor = await startVendor();
  const keys = Object.fromEntries(
    ["PARALLEL", "FASTCRW", "ICYPEAS"].flatMap((name) => [
      [`${name}_API_KEY`, "key"],
      [`${name}_BASE_URL`, vendor.url],
    ]),
  );
  gateway = await startAcmeGateway(keys, { actions: [deep], jobKinds: [kind] });
  gateway.vendor.answers({ body: { results: ["a"] } });
});
beforeEach(async () => {
  gate = async () => {};
  account = await gateway.live({ creditCents: 100 });
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  await vendor.close();
  expect(findings).toEqual([]);
});

const launch = async (times: number) => {
  const { json } = await gateway.run(account, "core/deep", { times });
  return (json.data as { job_id: string }).job_id;
};
const ask = (job_id: string, of = account) => gateway.run(of, "core/result", { job_id });
const cancel = (job_id: string, of = account) => gateway.run(of, "core/cancel", { job_id });
const over = (job_id: string) =>
  eventually(async () => {
    const { json } = await ask(job_id);
    const { status } = json.data as { status: string };
    return status === "succeeded" || status === "failed" ? json : undefined;
  }, `the end of ${job_id}`);
/** A gate that lets this many steps pass and holds the next until `open`. */
function gateAt(step: number) {
  const { promise: held, resolve: open } = Promise.withResolvers<void>();
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  gate = async (at) => {
    if (at !== step) return;
    reach();
    await held;
  };
  return { reached, open };
}

describe("core/result of a job of ours", () => {
  it("tells job_id, status, progress, and once it is over result and what it cost; asking costs nothing", async () => {
    const { reached, open } = gateAt(2);
    const id = await launch(3);
    await reached;
    const running = await ask(id);
    expect(running.json).toMatchObject({ ok: true, charged_cents: 0 });
    expect(running.json.data).toEqual({
      job_id: id,
      status: "running",
      progress: { done: 2, total: 3 },
      charged_cents: 0,
    });
    open();
    const { data, charged_cents } = await over(id);
    expect(data).toEqual({
      job_id: id,
      status: "succeeded",
      progress: { done: 3, total: 3 },
      result: { done: 3 },
      charged_cents: 3,
    });
    expect(charged_cents).toBe(0);
    expect(await gateway.transactions(account)).toHaveLength(1);
  });

  it("of one that failed says so, and that it cost nothing", async () => {
    const id = await launch(0);
    expect((await over(id)).data).toMatchObject({ status: "failed", charged_cents: 0 });
  });

  it.each([
    ["another account's job", async () => launch(1), () => gateway.live({ creditCents: 100 })],
    ["no job at all", async () => "job_none", async () => account],
    ["an id of any other kind", async () => "trun_none", async () => account],
  ])("is 404 for %s", async (_, made, asker) => {
    const answer = await ask(await made(), await asker());
    expect([answer.status, answer.json.error]).toEqual([404, "not_found"]);
  });

  it("can be asked with a paused key", async () => {
    const id = await launch(1);
    await over(id);
    const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
    const agents = `${gateway.url}/api/v1/agents`;
    const made = await fetch(agents, { method: "POST", headers, body: JSON.stringify({ label: "agent" }) });
    const agent = (await made.json()) as { id: string; api_key: string };
    await fetch(`${agents}/${agent.id}`, { method: "PATCH", headers, body: JSON.stringify({ paused: true }) });
    expect((await gateway.run(agent.api_key, "core/result", { job_id: id })).status).toBe(200);
  });
});

describe("core/cancel", () => {
  it("ends a job with what it has, which is all that is charged, and frees the rest at once", async () => {
    const { reached, open } = gateAt(2);
    const id = await launch(5);
    await reached;
    const told = await cancel(id);
    expect(told.json).toMatchObject({ charged_cents: 0, data: { job_id: id, status: "running", cancelled: true } });
    open();
    const { data } = await over(id);
    expect(data).toMatchObject({ status: "succeeded", cancelled: true, result: { done: 2 }, charged_cents: 2 });
    expect([await gateway.heldCents(account), await gateway.balanceCents(account)]).toEqual([0, 98]);
  });

  it("of a job that has found nothing yet ends it as failed, free", async () => {
    const { reached, open } = gateAt(0);
    const id = await launch(5);
    await reached;
    await cancel(id);
    open();
    expect((await over(id)).data).toMatchObject({ status: "failed", cancelled: true, charged_cents: 0 });
  });

  it("of one that is over changes nothing, however often it is asked", async () => {
    const id = await launch(1);
    const { result: _, ...view } = (await over(id)).data as Record<string, unknown>;
    for (let at = 0; at < 2; at++) expect((await cancel(id)).json.data).toEqual(view);
  });

  it("of another account's job is 404, and does not stop it", async () => {
    const { reached, open } = gateAt(0);
    const id = await launch(1);
    await reached;
    const answer = await cancel(id, await gateway.live());
    expect([answer.status, answer.json.error]).toEqual([404, "not_found"]);
    open();
    expect((await over(id)).data).toMatchObject({ status: "succeeded" });
  });
});

describe("core/result of what a vendor runs on its own", () => {
  it("takes the run_id of parallel/task, asks the vendor once for two who ask, and keeps what came", async () => {
    vendor.answers({ body: { run_id: "trun_1", status: "queued" } });
    await gateway.run(account, "parallel/task", { input: "tea" });
    vendor.answers({ body: { run_id: "trun_1", status: "completed" } }, { body: { output: { content: "green" } } });
    const first = await ask("trun_1");
    expect(first.json).toMatchObject({
      charged_cents: 0,
      data: { job_id: "trun_1", status: "succeeded", result: { output: { content: "green" } }, charged_cents: 0 },
    });
    const second = await ask("trun_1");
    expect(second.json.data).toEqual(first.json.data);
    expect(vendor.asked.map(({ url }) => url)).toEqual(["/tasks/runs/trun_1", "/tasks/runs/trun_1/result?timeout=5"]);
    expect(await gateway.transactions(account)).toHaveLength(1);
  });

  it("asks again within three seconds of nobody: the record answers", async () => {
    vendor.answers({ body: { success: true, id: "crawl-1" } });
    await gateway.run(account, "fastcrw/crawl", { url: "https://a.example" });
    vendor.answers({ body: { success: true, status: "scraping", total: 9, completed: 1, data: [] } });
    const told = await Promise.all(Array.from({ length: 5 }, () => ask("crawl-1")));
    for (const { json } of told) expect(json.data).toMatchObject({ job_id: "crawl-1", status: "running" });
    expect(vendor.asked).toHaveLength(1);
  });

  it("is 404 for whoever has not launched it", async () => {
    vendor.answers({ body: { success: true, id: "crawl-2" } });
    await gateway.run(account, "fastcrw/crawl", { url: "https://a.example" });
    vendor.answers({ body: { success: true, status: "completed", data: [] } });
    const answer = await ask("crawl-2", await gateway.live());
    expect([answer.status, answer.json.error, vendor.asked]).toEqual([404, "not_found", []]);
  });

  it("of a crawl that failed says failed", async () => {
    vendor.answers({ body: { success: true, id: "crawl-3" } });
    await gateway.run(account, "fastcrw/crawl", { url: "https://a.example" });
    vendor.answers({ body: { success: true, status: "failed", data: [] } });
    expect((await ask("crawl-3")).json.data).toMatchObject({ status: "failed" });
  });

  it("of a search of icypeas is free, although asking icypeas/result costs a cent; an empty one has succeeded", async () => {
    vendor.answers({ body: { success: true, item: { _id: "ice1", status: "NONE" } } });
    const params = { firstname: "Ada", domainOrCompany: "example.com" };
    await gateway.run(account, "icypeas/email-search", params);
    vendor.answers({ body: { success: true, items: [{ _id: "ice1", status: "NOT_FOUND" }] } });
    expect((await ask("ice1")).json).toMatchObject({ charged_cents: 0, data: { status: "succeeded" } });
    expect(await gateway.transactions(account)).toHaveLength(1);
  });

  it("whose vendor fails is an error, and the vendor is not asked again at once", async () => {
    vendor.answers({ body: { success: true, id: "crawl-4" } });
    await gateway.run(account, "fastcrw/crawl", { url: "https://a.example" });
    vendor.answers({ status: 500, body: {} });
    const failed = await ask("crawl-4");
    expect([failed.status, failed.json.error]).toEqual([500, "upstream_error"]);
    const { length } = vendor.asked;
    expect((await ask("crawl-4")).json.data).toMatchObject({ status: "running" });
    expect(vendor.asked).toHaveLength(length);
  });
});

describe("what the operator sees", () => {
  it("tollgate jobs lists what runs, for people and as JSON; metrics count it", async () => {
    const { reached, open } = gateAt(1);
    const id = await launch(4);
    await reached;
    const out: string[] = [];
    const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
    const place = {
      environment,
      out: (line: string) => void out.push(line),
      err: (line: string) => void out.push(line),
    };
    expect(await runCommand(["jobs", "--account", account.accountId], place)).toBe(0);
    expect(out.join("\n")).toMatch(new RegExp(`${id} +deep +running +${account.accountId} .* 1 of 4 `));
    out.length = 0;
    expect(await runCommand(["jobs", "--json", "--account", account.accountId], place)).toBe(0);
    expect(JSON.parse(out.join("\n"))).toMatchObject({
      jobs: [{ job_id: id, kind: "deep", status: "running", done: 1, total: 4, spent_usd: "0.01" }],
    });
    const text = await gateway.metricsText();
    expect(text).toMatch(/^tollgate_jobs_running 1$/m);
    expect(Number(/^tollgate_jobs_oldest_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
    expect(Number(/^tollgate_jobs_still_seconds (\S+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
    expect(text).toMatch(/^tollgate_jobs_ended_total\{kind="deep",status="failed"\} [1-9]/m);
    open();
    await over(id);
    await eventually(
      async () => ((await gateway.metricsText()).includes("tollgate_jobs_running 0") ? true : undefined),
      "no job",
    );
    out.length = 0;
    await runCommand(["jobs"], place);
    expect(out).toEqual(["No job runs."]);
  });
});

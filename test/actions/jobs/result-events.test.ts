// core/result as server-sent events, read by a real client: from launch to end, for whom, how many, and what remains afterwards.
import { EventSourceParserStream } from "eventsource-parser/stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunningJob } from "../../../src/catalog/job-kind.ts";
import { launched, localAction } from "../../../src/catalog/local-action.ts";
import { nano } from "../../../src/core/money.ts";
import { eventually, type TestAccount } from "../../support/gateway.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";
import { type AcmeGateway, startAcmeGateway } from "../run/acme-gateway.ts";

const CENT = 10_000_000;
const STREAMS_MAX = 20;
/** What a job waits for before each of its steps. */
let gate: (step: number) => Promise<void> = async () => {};

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
      await gate(done);
      await job.call({ action: "acme/search", params: { q: "tea" } });
      done += 1;
      await job.save({ done, total: times });
    }
    const result = times > 100 ? { text: "x".repeat(300_000) } : { done };
    return { status: "succeeded", result, chargeNano: nano(done * CENT) } as const;
  },
} as const;

interface Told {
  readonly event?: string | undefined;
  readonly data: Record<string, unknown>;
}

let gateway: AcmeGateway;
let vendor: VendorServer;
let account: TestAccount;
const opened: AbortController[] = [];

beforeAll(async () => {
  vendor = await startVendor();
  const keys = { FASTCRW_API_KEY: "key", FASTCRW_BASE_URL: vendor.url };
  gateway = await startAcmeGateway(keys, { actions: [deep], jobKinds: [kind] });
  gateway.vendor.answers({ body: { results: ["a"] } });
});
beforeEach(async () => {
  for (const one of opened.splice(0)) one.abort();
  gate = async () => {};
  account = await gateway.live({ creditCents: 100, inFlight: 1 });
});
afterAll(async () => {
  for (const one of opened) one.abort();
  await gateway.stop();
  await vendor.close();
});

async function launch(times: number): Promise<string> {
  const { json } = await gateway.run(account, "core/deep", { times });
  return (json.data as { job_id: string }).job_id;
}

/** Makes every step wait until it is released. */
function steps() {
  const held: (() => void)[] = [];
  gate = () => new Promise((resolve) => void held.push(resolve));
  return {
    async letGo() {
      (await eventually(() => held.shift(), "a step"))();
    },
  };
}

/** Requests a job's events, as a program that reads them one by one. */
async function follow(job_id: string, key = account.key, accept = "text/event-stream") {
  const leaving = new AbortController();
  opened.push(leaving);
  const response = await fetch(`${gateway.url}/api/run/core/result`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", accept },
    body: JSON.stringify({ job_id }),
    signal: leaving.signal,
  });
  const events = () =>
    response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  let reader: ReturnType<typeof events>;
  return {
    response,
    leave: () => leaving.abort(),
    async next(): Promise<Told | null> {
      reader ??= events();
      const { value } = (await reader?.read()) ?? {};
      return value === undefined ? null : { event: value.event, data: JSON.parse(value.data) as Told["data"] };
    },
  };
}

describe("the events of a job", () => {
  it("tell its progress and what it has spent as it goes on, then what polling answers, and end", async () => {
    const { letGo } = steps();
    const id = await launch(2);
    const stream = await follow(id);
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    const begun = await stream.next();
    expect(begun?.event).toBe("progress");
    expect(begun?.data).toMatchObject({ job_id: id });
    await letGo();
    let step = await stream.next();
    while (step?.data.progress === undefined) step = await stream.next();
    expect(step).toEqual({
      event: "progress",
      data: { job_id: id, status: "running", progress: { done: 1, total: 2 }, spent_cents: 1 },
    });
    await letGo();
    let last = await stream.next();
    while (last?.event === "progress") last = await stream.next();
    expect(last?.event).toBe("result");
    expect(last?.data).toEqual({
      job_id: id,
      status: "succeeded",
      progress: { done: 2, total: 2 },
      result: { done: 2 },
      charged_cents: 2,
    });
    expect(last?.data).toEqual((await gateway.run(account, "core/result", { job_id: id })).json.data);
    expect(await stream.next()).toBeNull();
  });

  it("of one that is over are its result alone", async () => {
    const id = await launch(1);
    await (await follow(id)).response.text();
    const stream = await follow(id);
    expect((await stream.next())?.event).toBe("result");
    expect(await stream.next()).toBeNull();
  });

  it("leave a long result out, and say where it is", async () => {
    const stream = await follow(await launch(101));
    let last = await stream.next();
    while (last?.event === "progress") last = await stream.next();
    expect(last?.data).toMatchObject({ status: "succeeded", hint: expect.stringContaining("core/result") });
    expect(last?.data).not.toHaveProperty("result");
  });

  it("are nobody else's", async () => {
    const { letGo } = steps();
    const id = await launch(1);
    const stream = await follow(id, (await gateway.live()).key);
    expect(stream.response.status).toBe(404);
    expect(stream.response.headers.get("content-type")).toBe("application/json");
    await letGo();
  });

  it("are not told of what a vendor runs, and the field is named", async () => {
    vendor.answers({ body: { success: true, id: "crawl-1" } });
    await gateway.run(account, "fastcrw/crawl", { url: "https://a.example" });
    vendor.answers({ body: { success: true, status: "scraping", total: 9, completed: 1, data: [] } });
    const { response } = await follow("crawl-1");
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('"field":"job_id"');
  });

  it.each(["application/json, text/event-stream", "*/*", "application/json"])(
    "are not what a client gets that accepts %s",
    async (accept) => {
      const id = await launch(1);
      const { response } = await follow(id, account.key, accept);
      expect(response.headers.get("content-type")).toBe("application/json");
      await response.text();
    },
  );
});

describe("streams that wait", () => {
  it("take no place among an account's calls in flight, and are told 429 beyond twenty until one has left", async () => {
    const { letGo } = steps();
    const id = await launch(1);
    const streams = await Promise.all(Array.from({ length: STREAMS_MAX }, () => follow(id)));
    for (const stream of streams) expect((await stream.next())?.event).toBe("progress");
    expect((await gateway.run(account, "acme/search", { q: "tea" })).status).toBe(200);
    const refused = await follow(id);
    expect(refused.response.status).toBe(429);
    expect(await refused.response.text()).toContain('"too_many_streams"');
    streams[0]?.leave();
    const again = await eventually(async () => {
      const stream = await follow(id);
      return stream.response.status === 200 ? stream : undefined;
    }, "a place");
    await letGo();
    let last = await again.next();
    while (last?.event === "progress") last = await again.next();
    expect(last?.event).toBe("result");
  });

  it("end when the process goes away, and tell their clients to ask again", async () => {
    const own = await startAcmeGateway({ DRAIN_SECONDS: "20" }, { actions: [deep], jobKinds: [kind] });
    const { letGo } = steps();
    const payer = await own.live({ creditCents: 100 });
    const { json } = await own.run(payer, "core/deep", { times: 1 });
    const response = await fetch(`${own.url}/api/run/core/result`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${payer.key}`,
        "content-type": "application/json",
        accept: "text/event-stream",
      },
      body: JSON.stringify(json.data).replace(/,"status.*/, "}"),
    });
    expect(response.status).toBe(200);
    const drained = own.stop();
    expect(await response.text()).toMatch(/event: again\ndata: \{"job_id":"job_\w+","after_seconds":\d+\}\n\n$/);
    await letGo();
    await drained;
  });
});

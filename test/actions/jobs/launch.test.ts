// Launching a job over HTTP: its budget is held, the answer comes immediately, and the work continues afterwards.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunningJob } from "../../../src/catalog/job-kind.ts";
import { launched, localAction } from "../../../src/catalog/local-action.ts";
import { nano } from "../../../src/core/money.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, type TestAccount } from "../../support/gateway.ts";
import { postAs, sendAs } from "../../support/keyed-fetch.ts";
import { startAcmeGateway } from "../run/acme-gateway.ts";

const CENT = 10_000_000;
/** What a running job waits for before it continues; set by each test. */
let gate = Promise.resolve();

const deep = localAction({
  service: "core",
  action: "deep",
  description: "Searches so many times, within its budget.",
  category: "core",
  effect: "read",
  params: z.strictObject({ times: z.int().min(0).max(20), budgetCents: z.int().min(10).max(500).default(10) }),
  price: { mode: "capped", cents: 500, quoteCents: ({ budgetCents }) => budgetCents },
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
    await gate;
    let found = 0;
    for (let at = 0; at < times; at++) {
      const answer = await job.call({ action: "acme/search", params: { q: "tea" } });
      if (!answer.ok) break;
      found += 1;
      await job.save(found);
    }
    const status = found > 0 ? "succeeded" : "failed";
    return { status, result: { found }, chargeNano: nano(found * CENT) } as const;
  },
} as const;

const gateway = forFile(await startAcmeGateway({}, { actions: [deep], jobKinds: [kind] }));
gateway.vendor.answers({ body: { results: ["a"] } });

const launch = (account: TestAccount, params: object, headers = {}) =>
  gateway.run(account, "core/deep", params, headers);
const over = (account: TestAccount) =>
  eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "the job's end");

describe("a launch", () => {
  it("answers at once, holds the budget, and is charged what the job has spent when it ends", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const account = await gateway.live({ creditCents: 100 });
    const answer = await launch(account, { times: 3, budgetCents: 20 });
    expect(answer.json).toMatchObject({
      data: { job_id: expect.stringMatching(/^job_/), status: "queued", async: true },
      charged_cents: 0,
      balance_remaining_cents: 100,
    });
    expect(await gateway.heldCents(account)).toBe(20);
    expect(await gateway.transactions(account)).toEqual([]);
    resolve();
    await over(account);
    const [posting, ...more] = await gateway.transactions(account);
    expect(more).toEqual([]);
    expect(posting).toMatchObject({ transaction_id: answer.json.transaction_id, charged_cents: 3 });
  });

  it("keeps what its caller has called it, like any action's call", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const headers = { "x-tollgate-tags": "team=red" };
    await launch(account, { times: 1 }, headers);
    await over(account);
    await gateway.run(account, "acme/search", { q: "tea" }, headers);
    const tags = (await gateway.transactions(account)).map((posting) => posting.tags);
    expect(tags).toEqual([["team=red"], ["team=red"]]);
  });

  it("spends no more than its budget", async () => {
    const account = await gateway.live({ creditCents: 100 });
    await launch(account, { times: 20, budgetCents: 10 });
    await over(account);
    expect((await gateway.transactions(account))[0]).toMatchObject({ charged_cents: 10 });
  });

  it("of a job that finds nothing is free", async () => {
    const account = await gateway.live({ creditCents: 100 });
    await launch(account, { times: 0 });
    await over(account);
    expect([await gateway.transactions(account), await gateway.balanceCents(account)]).toEqual([[], 100]);
  });

  it("takes no call's place among those in flight, but one of three of its own", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const account = await gateway.live({ creditCents: 1_000, inFlight: 1 });
    for (let at = 0; at < 3; at++) expect((await launch(account, { times: 1 })).status).toBe(200);
    const fourth = await launch(account, { times: 1 });
    expect([fourth.status, fourth.json.error]).toEqual([429, "too_many_inflight"]);
    expect((await gateway.run(account, "acme/search", { q: "tea" })).status).toBe(200);
    resolve();
    await over(account);
    expect((await launch(account, { times: 1 })).status).toBe(200);
    await over(account);
  });

  it("needs its whole budget: credits_required", async () => {
    const account = await gateway.live({ creditCents: 15 });
    const answer = await launch(account, { times: 1, budgetCents: 20 });
    expect([answer.status, answer.json.error, answer.json.data]).toMatchObject([
      402,
      "credits_required",
      { balance_cents: 15 },
    ]);
    expect(await gateway.heldCents(account)).toBe(0);
  });

  it("above the caller's own bound is refused", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const answer = await launch(account, { times: 1, budgetCents: 20, max_cost_cents: 19 });
    expect([answer.status, answer.json.error]).toEqual([402, "max_cost_exceeded"]);
  });

  it("by a paused key is refused", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const made = await postAs(account.key, `${gateway.url}/api/v1/agents`, { label: "agent" });
    const { id, api_key } = (await made.json()) as { id: string; api_key: string };
    await sendAs(account.key, "PATCH", `${gateway.url}/api/v1/agents/${id}`, { paused: true });
    const answer = await gateway.run(api_key, "core/deep", { times: 1 });
    expect([answer.status, answer.json.error]).toEqual([403, "key_paused"]);
  });

  it("under one Idempotency-Key launches once, while the job runs and after it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const account = await gateway.live({ creditCents: 100 });
    const key = { "idempotency-key": "launch-1" };
    const first = await launch(account, { times: 2 }, key);
    const second = await launch(account, { times: 2 }, key);
    expect(second.json.data).toEqual(first.json.data);
    expect([second.json.charged_cents, second.headers.get("idempotent-replayed")]).toEqual([0, "true"]);
    expect(await gateway.heldCents(account)).toBe(10);
    resolve();
    await over(account);
    const third = await launch(account, { times: 2 }, key);
    expect([third.json.data, third.json.charged_cents]).toEqual([first.json.data, 0]);
    const other = await launch(account, { times: 1 }, key);
    expect([other.status, other.json.error]).toEqual([422, "idempotency_mismatch"]);
    expect(await gateway.transactions(account)).toHaveLength(1);
  });

  it("of a job that failed is answered so again under its key, and is not run again", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const key = { "idempotency-key": "launch-2" };
    const first = await launch(account, { times: 0 }, key);
    await over(account);
    const again = await launch(account, { times: 0 }, key);
    expect(again.json.data).toEqual(first.json.data);
    expect(await gateway.heldCents(account)).toBe(0);
  });
});

// The guarantees of jobs in either store: they end once and are paid once, whichever process dies.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createJobEvents } from "../../../src/actions/jobs/job-events.ts";
import { findJob, type JobRecord, putJob } from "../../../src/actions/jobs/job-record.ts";
import { jobView } from "../../../src/actions/jobs/job-view.ts";
import type { EndedJob, JobEnd, JobKind } from "../../../src/catalog/job-kind.ts";
import type { ToldEvent } from "../../../src/catalog/local-action.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { nano } from "../../../src/core/money.ts";
import type { Stores } from "../../../src/gateway/stores.ts";
import { CENT, newAccount, newKey } from "../../money/ledger/requests.ts";
import { eventually } from "../../support/gateway.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { ACCOUNT, type Asked, type JobsStage, moneyOf, openJobs, PAYER, stepping } from "./stage.ts";

const STEPS = 3;
const EVENTS = {
  clock: systemClock,
  draining: () => false,
  ended: async (job: JobRecord) => JSON.stringify(jobView(job)),
};
const forever = () => new Promise<never>(() => {});

export function jobsContract(name: string, open: () => Promise<Stores>): void {
  describe(`${name}: jobs`, () => {
    let stores: Stores;
    let asked: Asked = [];
    let opened: JobsStage[] = [];
    let number = 0;

    beforeAll(async () => {
      stores = await open();
      await stores.ledger.openAccount(newAccount(ACCOUNT, 10_000));
    });
    beforeEach(async () => {
      await Promise.all(opened.map(({ jobs }) => jobs.stop()));
      opened = [];
      asked = [];
    });
    afterAll(async () => {
      await Promise.all(opened.map(({ jobs }) => jobs.stop()));
      expect((await stores.ledger.doctor()).findings).toEqual([]);
      await stores.close();
    });

    async function process(kind = stepping(STEPS, () => {})): Promise<JobsStage> {
      const stage = openJobs(stores, `process-${++number}`, [kind], { asked });
      opened.push(stage);
      await stage.jobs.start();
      await stage.jobs.adopt();
      return stage;
    }
    const ended = ({ jobs }: JobsStage, id: string) =>
      eventually(async () => {
        const job = await jobs.find(id, PAYER);
        return job?.state === "succeeded" || job?.state === "failed" ? job : undefined;
      }, `the end of ${id}`);
    const nameOf = () => `${name}${++number}`;

    it("ends once, is charged what it has spent, and nothing is held after it", async () => {
      const before = await moneyOf(stores);
      const stage = await process();
      const id = await stage.launch(nameOf());
      expect(await ended(stage, id)).toMatchObject({
        state: "succeeded",
        end: { result: { done: 3 } },
        chargedCents: 3,
      });
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + 3, held: 0 });
      expect(asked).toHaveLength(3);
    });

    it("keeps its budget held while it runs, and is another payer's to nobody", async () => {
      const { promise: going, resolve: go } = Promise.withResolvers<void>();
      const stage = await process(stepping(STEPS, () => going));
      const id = await stage.launch(nameOf());
      expect((await moneyOf(stores)).held).toBe(10);
      expect(await stage.jobs.find(id, { id: "acct:eve", sandbox: false })).toBeNull();
      go();
      await ended(stage, id);
    });

    it("that fails is charged nothing", async () => {
      const before = await moneyOf(stores);
      const stage = await process(stepping(STEPS, () => Promise.reject(new Error("broken"))));
      const id = await stage.launch(nameOf());
      expect(await ended(stage, id)).toMatchObject({ state: "failed", chargedCents: 0 });
      expect(await moneyOf(stores)).toEqual({ spent: before.spent, held: 0 });
    });

    it.each([
      ["its key is paused", "key_paused"],
      ["its key is revoked", "key_revoked"],
      ["its account is frozen", "account_frozen"],
    ] as const)("takes no further step once %s: it fails, and is charged for what it had done", async (_, stopped) => {
      const before = await moneyOf(stores);
      const { ledger } = stores;
      const keyId = `${nameOf()}.agent`;
      expect(await ledger.createKey(ACCOUNT, newKey(keyId))).toBe("created");
      const stop = async () => {
        if (stopped === "key_paused") await ledger.patchKey(ACCOUNT, keyId, { paused: true });
        else if (stopped === "key_revoked") await ledger.deleteKey(ACCOUNT, keyId);
        else await ledger.patchAccount(ACCOUNT, { frozen: true });
      };
      const stage = await process(stepping(STEPS, (_, step) => (step === 2 ? stop() : undefined)));
      const id = await stage.launch(nameOf(), keyId);
      const job = await ended(stage, id);
      expect(job).toMatchObject({ state: "failed", end: { stopped }, chargedCents: 2 });
      expect(asked).toHaveLength(2);
      await ledger.patchAccount(ACCOUNT, { frozen: false });
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + 2, held: 0 });
      expect(await ledger.transaction(ACCOUNT, job.hold.holdId)).toMatchObject({ keyId, chargedCents: 2 });
    });

    it("whose key is paused before its first step is charged nothing, also where its kind makes light of it", async () => {
      const before = await moneyOf(stores);
      const keyId = `${nameOf()}.agent`;
      await stores.ledger.createKey(ACCOUNT, newKey(keyId));
      const careless = stepping(STEPS, () => stores.ledger.patchKey(ACCOUNT, keyId, { paused: true }).then(() => {}));
      const run: typeof careless.run = (job) =>
        careless.run(job).catch(() => ({ status: "succeeded", result: { rows: [] }, chargeNano: nano(3 * CENT) }));
      const stage = await process({ ...careless, run });
      const id = await stage.launch(nameOf(), keyId);
      const end = { stopped: "key_paused", result: { rows: [] } };
      expect(await ended(stage, id)).toMatchObject({ state: "failed", end, chargedCents: 0 });
      expect(asked).toEqual([]);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent, held: 0 });
    });

    it("whose key was paused while nobody ran it ends with the next step of whoever adopts it", async () => {
      const before = await moneyOf(stores);
      const keyId = `${nameOf()}.agent`;
      await stores.ledger.createKey(ACCOUNT, newKey(keyId));
      const first = await process(stepping(STEPS, (_, step) => (step === 1 ? forever() : undefined)));
      const id = await first.launch(nameOf(), keyId);
      await eventually(async () => ((await first.jobs.find(id, PAYER))?.progress === 1 ? true : undefined), "one step");
      await first.jobs.stop();
      await stores.ledger.patchKey(ACCOUNT, keyId, { paused: true });
      const second = await process();
      expect(await ended(second, id)).toMatchObject({ state: "failed", chargedCents: 1 });
      expect(asked).toHaveLength(1);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + 1, held: 0 });
    });

    it("whose process dies goes on in another from where it had come, and no step is paid twice", async () => {
      const before = await moneyOf(stores);
      const first = await process(stepping(STEPS, (_, step) => (step === 2 ? forever() : undefined)));
      const id = await first.launch(nameOf());
      await eventually(
        async () => ((await first.jobs.find(id, PAYER))?.progress === 2 ? true : undefined),
        "two steps",
      );
      // It stops sending heartbeats, and does not know that it is considered dead.
      await first.jobs.stop();
      const second = await process();
      expect(await ended(second, id)).toMatchObject({ state: "succeeded", chargedCents: 3, adoptions: 0 });
      expect(asked.map(({ by }) => by === asked[0]?.by)).toEqual([true, true, false]);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + 3, held: 0 });
    });

    it("that was adopted fifty-one times without coming a step further fails, as what its processes may have died of", async () => {
      const before = await moneyOf(stores);
      const first = await process(stepping(STEPS, () => forever()));
      const id = await first.launch(nameOf());
      await first.jobs.stop();
      const stored = await findJob(stores.records, id);
      if (stored === null) throw new Error("it has no record");
      await putJob(stores.records, { ...stored.job, adoptions: 50 }, stored.version);
      const second = await process();
      expect(await ended(second, id)).toMatchObject({ state: "failed", chargedCents: 0, adoptions: 51 });
      expect(asked).toEqual([]);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent, held: 0 });
    });

    it.each([
      ["of an end that gives something", "succeeded", () => {}],
      ["of a failure", "failed", () => Promise.reject(new Error("broken"))],
    ] as const)(
      "has what it made cleared %s before it is over, and once more where that failed",
      async (_, status, step) => {
        const cleared: EndedJob[] = [];
        const clear = async (job: EndedJob) => {
          cleared.push(job);
          if (cleared.length === 1) throw new Error("the store is away");
        };
        const stage = await process({ ...stepping(1, step), clear });
        const before = await moneyOf(stores);
        const id = await stage.launch(nameOf());
        expect(await ended(stage, id)).toMatchObject({ state: status });
        const progress = status === "succeeded" ? 1 : null;
        const told = {
          payer: expect.objectContaining({ id: PAYER.id }),
          progress,
          end: expect.objectContaining({ status }),
        };
        // At least that often; more if a renewal finds the hold paid before the record says so.
        expect(cleared.length).toBeGreaterThan(1);
        expect(cleared).toEqual(cleared.map(() => told));
        expect((await moneyOf(stores)).spent - before.spent).toBe(status === "succeeded" ? 1 : 0);
      },
    );

    it.each([
      ["is charged for each, under one parent", 5, null, 5],
      ["ends with what was charged where no other can be placed", 1_000_000, "no_money", 3],
      ["ends with what was charged where its key is revoked", 1, "key_revoked", 3],
    ] as const)("that goes on from one hold to the next %s", async (_, nextCents, refusal, charged) => {
      const keyId = `${ACCOUNT}.${name}.${refusal}`;
      await stores.ledger.createKey(ACCOUNT, newKey(keyId));
      const before = await moneyOf(stores);
      const served = { provider: "acme", action: "acme/step", upstreamNano: nano(7) };
      const chained: JobKind = {
        ...stepping(0, () => {}),
        async run(job) {
          if (refusal === "key_revoked") await stores.ledger.deleteKey(ACCOUNT, keyId);
          const refused = await job.succeed(nano(3 * CENT), nano(nextCents * CENT), served);
          const chargeNano = nano(refused === null ? 2 * CENT : 0);
          return { status: "succeeded", result: { refused, held: job.holding.amountNano / CENT }, chargeNano, served };
        },
      };
      const stage = await process(chained);
      const id = await stage.launch(nameOf(), keyId);
      const job = await ended(stage, id);
      expect(job.end?.result).toEqual({ refused: refusal, held: refusal === null ? nextCents : 0 });
      expect(job.chargedCents).toBe(charged);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + charged, held: 0 });
      const firstId = String(job.chain?.firstId);
      const first = await stores.ledger.transaction(ACCOUNT, firstId);
      expect(first).toMatchObject({ chargedCents: 3, parentId: null, provider: "acme", served: "acme/step" });
      const second = await stores.ledger.transaction(ACCOUNT, `${firstId}-2`);
      if (refusal === null) expect(second).toMatchObject({ chargedCents: 2, parentId: firstId });
      else expect(second).toBeNull();
    });

    it("that was cancelled while nobody ran it ends with what it has at whoever adopts it", async () => {
      const before = await moneyOf(stores);
      const first = await process(stepping(STEPS, (_, step) => (step === 2 ? forever() : undefined)));
      const id = await first.launch(nameOf());
      await eventually(
        async () => ((await first.jobs.find(id, PAYER))?.progress === 2 ? true : undefined),
        "two steps",
      );
      await first.jobs.stop();
      expect(await first.jobs.cancel(id, { id: "acct:eve", sandbox: false })).toBeNull();
      expect(await first.jobs.cancel(id, PAYER)).toMatchObject({ id });
      const second = await process();
      const job = await ended(second, id);
      expect(job).toMatchObject({ state: "succeeded", end: { cancelled: true, result: { done: 2 } }, chargedCents: 2 });
      expect(asked).toHaveLength(2);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + 2, held: 0 });
      // The record says so before the process stops working on it.
      await eventually(async () => (second.jobs.seen().running === 0 ? true : undefined), "the end of its run");
      expect(second.jobs.seen()).toMatchObject({ adopted: 1, ended: [{ status: "succeeded", count: 1 }] });
    });

    it("is listed for the operator, whichever process runs it, until it is over", async () => {
      const { promise: going, resolve: go } = Promise.withResolvers<void>();
      const first = await process(stepping(STEPS, () => going));
      const second = await process();
      const id = await first.launch(nameOf());
      expect((await second.jobs.open(10)).map((job) => job.id)).toEqual([id]);
      expect(await second.jobs.open(0)).toEqual([]);
      go();
      await ended(first, id);
      await eventually(async () => ((await second.jobs.open(10)).length === 0 ? true : undefined), "an empty list");
    });

    it("that two processes find is adopted by one", async () => {
      const first = await process(stepping(STEPS, () => forever()));
      const ids = await Promise.all(Array.from({ length: 20 }, () => first.launch(nameOf())));
      await first.jobs.stop();
      const both = await Promise.all([process(), process()]);
      const [stage] = both;
      if (stage === undefined) throw new Error("nobody");
      for (const id of ids) expect(await ended(stage, id)).toMatchObject({ state: "succeeded", chargedCents: 3 });
      expect(asked).toHaveLength(60);
      expect((await moneyOf(stores)).held).toBe(0);
    });

    it("of a process that was only slow is stopped there before it is paid again", async () => {
      const before = await moneyOf(stores);
      const { promise: going, resolve: go } = Promise.withResolvers<void>();
      const slow = await process(stepping(STEPS, (_, step) => (step === 1 ? going : undefined)));
      const id = await slow.launch(nameOf());
      await eventually(async () => ((await slow.jobs.find(id, PAYER))?.progress === 1 ? true : undefined), "one step");
      // The store forgets its heartbeat, as after too long a pause.
      await stores.records.delete("runner", asked[0]?.by ?? "");
      const other = await process();
      await other.jobs.adopt();
      await ended(other, id);
      go();
      await eventually(() => (slow.jobs.running() === 0 ? true : undefined), "the slow one to stop");
      expect(asked).toHaveLength(3);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + 3, held: 0 });
    });

    it("that was decided before its process died is paid as decided, once", async () => {
      const before = await moneyOf(stores);
      const away = openJobs(stores, `process-${++number}`, [stepping(STEPS, () => {})], {
        asked,
        ledger: { ...stores.ledger, post: () => Promise.reject(new Error("the process dies here")) },
      });
      opened.push(away);
      await away.jobs.start();
      const id = await away.launch(nameOf());
      await eventually(
        async () => ((await away.jobs.find(id, PAYER))?.state === "ending" ? true : undefined),
        "its end",
      );
      await away.jobs.stop();
      const other = await process();
      expect(await ended(other, id)).toMatchObject({ state: "succeeded", chargedCents: 3 });
      expect(asked).toHaveLength(3);
      expect(await moneyOf(stores)).toEqual({ spent: before.spent + 3, held: 0 });
    });

    it("whose process died after its last step, before its end was kept, has its end kept by the next one", async () => {
      const kept: string[] = [];
      const keepEnd = async ({ id: endedId }: JobRecord) => void kept.push(endedId);
      const dies = () => Promise.reject(new Error("the process dies here"));
      const away = openJobs(stores, `process-${++number}`, [stepping(STEPS, () => {})], { asked, keepEnd: dies });
      opened.push(away);
      await away.jobs.start();
      const id = await away.launch(nameOf());
      await ended(away, id);
      await away.jobs.stop();
      const next = openJobs(stores, `process-${++number}`, [stepping(STEPS, () => {})], { asked, keepEnd });
      opened.push(next);
      await next.jobs.start();
      await eventually(() => (kept.includes(id) ? true : undefined), "its end to be kept");
      expect(asked).toHaveLength(3);
    });

    it("whose hold has ended without it ends as failed, and is not run", async () => {
      const first = await process(stepping(STEPS, () => forever()));
      const name = nameOf();
      const id = await first.launch(name);
      await first.jobs.stop();
      await stores.ledger.void({ accountId: ACCOUNT, holdId: `tx_${name}` }, "its lease ended");
      const cleared: JobEnd["status"][] = [];
      const clear = async ({ end }: EndedJob) => void cleared.push(end.status);
      const second = await process({ ...stepping(STEPS, () => {}), clear });
      expect(await ended(second, id)).toMatchObject({ state: "failed", chargedCents: 0 });
      expect(asked).toEqual([]);
      // Once, or once more if it was interrupted.
      expect(new Set(cleared)).toEqual(new Set(["failed"]));
    });

    it("whose launch died before it was answered for is forgotten, and its hold released", async () => {
      const first = await process(stepping(STEPS, () => forever()));
      const launching = openJobs(
        { ...stores, records: { ...stores.records, put: onlyTheFirst(stores.records.put) } },
        `process-${++number}`,
        [stepping(STEPS, () => {})],
      );
      await launching.jobs.start();
      const name = nameOf();
      await expect(launching.launch(name)).rejects.toThrow();
      await launching.jobs.stop();
      expect((await moneyOf(stores)).held).toBe(10);
      await first.jobs.adopt();
      expect((await moneyOf(stores)).held).toBe(0);
      expect(await first.jobs.find(`job_${name}`, PAYER)).toBeNull();
    });

    it("is followed in the process that runs it and in any other, to its end", async () => {
      const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
      const first = await process(stepping(STEPS, (_, step) => (step === 1 ? held : undefined)));
      // Another process that serves callers and runs no jobs yet.
      const other = openJobs(stores, `process-${++number}`, [stepping(STEPS, () => {})]);
      opened.push(other);
      const id = await first.launch(nameOf());
      const streams = [first, other].map(({ jobs }) => eventsOf(jobs, id));
      for (const stream of streams) expect((await (await stream).next()).event).toBe("progress");
      letGo();
      for (const stream of streams) {
        let told = await (await stream).next();
        while (told.event === "progress") told = await (await stream).next();
        expect(told).toMatchObject({ event: "result", json: expect.stringContaining(`"charged_cents":${STEPS}`) });
        expect(await (await stream).next()).toEqual({ event: "none" });
      }
    });

    it("is not followed by a caller who has left, nor by anybody else's key", async () => {
      const first = await process(stepping(STEPS, () => forever()));
      const id = await first.launch(nameOf());
      const leaving = new AbortController();
      const stream = await eventsOf(first.jobs, id, leaving.signal);
      expect((await stream.next()).event).toBe("progress");
      leaving.abort();
      expect(await stream.next()).toEqual({ event: "none" });
      const open = createJobEvents({ ...EVENTS, jobs: () => first.jobs });
      expect(await open(id, { ...PAYER, id: "acct:eve" }, new AbortController().signal)).toBeNull();
    });

    it("that stands still is shown to be alive every fifteen seconds", async () => {
      const first = await process(stepping(STEPS, () => forever()));
      const id = await first.launch(nameOf());
      const clock = manualClock(0);
      const open = createJobEvents({ ...EVENTS, clock, jobs: () => first.jobs });
      const leaving = new AbortController();
      const told = await open(id, PAYER, leaving.signal);
      if (told === null || told instanceof Error) throw new Error("no stream");
      const events = told[Symbol.asyncIterator]();
      expect((await events.next()).value?.event).toBe("progress");
      // The launch event may come before the first step.
      let beat: IteratorResult<ToldEvent | null> = { value: { event: "progress", json: "" } };
      while (beat.done !== true && beat.value !== null) {
        const next = events.next();
        clock.advance(15_000);
        beat = await next;
      }
      expect(beat).toEqual({ value: null, done: false });
      leaving.abort();
      expect(await events.next()).toEqual({ value: undefined, done: true });
    });

    /** The events of a job that its payer gets. */
    async function eventsOf(jobs: JobsStage["jobs"], id: string, signal = new AbortController().signal) {
      const told = await createJobEvents({ ...EVENTS, jobs: () => jobs })(id, PAYER, signal);
      if (told === null || told instanceof Error) throw new Error(`no events of ${id}`);
      const events = told[Symbol.asyncIterator]();
      return { next: async () => (await events.next()).value ?? { event: "none" } };
    }

    /** Fails every put of a job except the first, as if the process died there. */
    function onlyTheFirst(put: Stores["records"]["put"]): Stores["records"]["put"] {
      return (record) =>
        record.kind === "job" && record.ifVersion !== 0 ? Promise.reject(new Error("died")) : put(record);
    }
  });
}

// Processes that launch jobs without running any, beside processes that run them, over a real Redis.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { jobNews } from "../../../src/actions/jobs/job-news.ts";
import { isOver, type JobRecord } from "../../../src/actions/jobs/job-record.ts";
import type { JobsOptions } from "../../../src/actions/jobs/jobs.ts";
import { WAITING } from "../../../src/actions/jobs/runners.ts";
import type { JobKind, RunningJob } from "../../../src/catalog/job-kind.ts";
import { openStores, type Stores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { newAccount } from "../../money/ledger/requests.ts";
import { folderForFile } from "../../support/for-file.ts";
import { eventually } from "../../support/gateway.ts";
import { anyRedis, type LentRedis, REDIS_MS_MAX } from "../../support/redis.ts";
import { launchThroughKernel } from "./kernel-launch.ts";
import { ACCOUNT, type Asked, type JobsStage, moneyOf, openJobs, PAYER, stepping } from "./stage.ts";

const STEPS = 3;
/** Heartbeats come at a quarter of this, longer than any test waits, so anything a process notices came from a notification. */
const NO_BEATS_MS = 600_000;
const folder = folderForFile("tollgate-roles-");
let redis: LentRedis;
let stores: Stores;
let asked: Asked = [];
let opened: JobsStage[] = [];
let number = 0;

beforeAll(async () => {
  redis = await anyRedis();
  const environment = { DATA_DIR: folder, REDIS_URL: redis.url, REDIS_COMMAND_MS: "10000" };
  stores = await openStores(readConfig(environment), {
    onFatal(error) {
      throw error;
    },
  });
  await stores.ledger.openAccount(newAccount(ACCOUNT, 10_000));
}, REDIS_MS_MAX);
afterEach(async () => {
  await Promise.all(opened.map(({ jobs }) => jobs.stop()));
  opened = [];
  asked = [];
  expect((await moneyOf(stores)).held).toBe(0);
});
afterAll(async () => {
  expect((await stores.ledger.doctor()).findings).toEqual([]);
  await stores.close();
  await redis.dispose();
});

type Before = (job: RunningJob, step: number) => Promise<void> | void;
const forever = () => new Promise<never>(() => {});
const nameOf = () => `role${++number}`;

interface Process extends JobsStage {
  readonly self: string;
}

async function open(kind: JobKind, more: Partial<JobsOptions>): Promise<Process> {
  const self = `process-${++number}`;
  const told = { news: jobNews(stores.others), runnerLeaseMs: NO_BEATS_MS, ...more };
  const stage = openJobs({ ...stores, records: more.records ?? stores.records }, self, [kind], { asked, ...told });
  opened.push(stage);
  await stage.jobs.start();
  // Its first scan is over: the next one starts on request.
  await stage.jobs.adopt();
  return { ...stage, self };
}
const serving = (more: Partial<JobsOptions> = {}) => open(stepping(STEPS, forever), { works: false, ...more });
const working = (before: Before = () => {}, more: Partial<JobsOptions> = {}) => open(stepping(STEPS, before), more);

const seen = (id: string, what: string, is: (job: JobRecord) => boolean) =>
  eventually(async () => {
    const [stage] = opened;
    const job = (await stage?.jobs.find(id, PAYER)) ?? null;
    return job !== null && is(job) ? job : undefined;
  }, `${id}: ${what}`);
const ended = (id: string) => seen(id, "its end", isOver);

/** It stops sending heartbeats: others may take over its jobs. */
const dies = ({ self }: Process) => stores.records.delete("runner", self);

it("what is launched where jobs are not run is run where they are as soon as it is told, and charged once", async () => {
  const before = await moneyOf(stores);
  const serve = await serving();
  const work = await working();
  const id = await serve.launch(nameOf());
  expect(await ended(id)).toMatchObject({ state: "succeeded", runner: work.self, chargedCents: 3 });
  expect(asked.map(({ by }) => by)).toEqual([work.self, work.self, work.self]);
  expect((await moneyOf(stores)).spent).toBe(before.spent + 3);
  // The operator learns of deaths through this.
  expect(work.jobs.seen().adopted).toBe(0);
  expect(serve.jobs.running()).toBe(0);
});

it("what was not told of is found at the next beat, and by one of those that look", async () => {
  // Far longer than a busy machine keeps a process from its heartbeat.
  const quiet = { news: jobNews(null), runnerLeaseMs: 3_000 };
  const serve = await serving(quiet);
  await Promise.all([working(undefined, quiet), working(undefined, quiet)]);
  const ids = await Promise.all(Array.from({ length: 10 }, () => serve.launch(nameOf())));
  for (const id of ids) expect(await ended(id)).toMatchObject({ state: "succeeded", chargedCents: 3 });
  expect(asked).toHaveLength(30);
});

it("is followed where it was launched, and cancelled from there while it runs elsewhere", async () => {
  const serve = await serving();
  const untilTold = ({ signal }: RunningJob) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  const work = await working((job, step) => (step === 1 ? untilTold(job) : undefined));
  const id = await serve.launch(nameOf());
  const watched = serve.jobs.watch(await seen(id, "its launch", () => true));
  while (watched.job?.progress !== 1) await watched.next();
  await serve.jobs.cancel(id, PAYER);
  const cancelled = { state: "succeeded", runner: work.self, end: { cancelled: true }, chargedCents: 2 };
  expect(await ended(id)).toMatchObject(cancelled);
  while (watched.job?.state !== "succeeded") await watched.next();
  watched.close();
});

it("whose cancelling was cut off is cancelled by the next that asks for it", async () => {
  const untilTold = ({ signal }: RunningJob) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  const { put } = stores.records;
  let isAway = true;
  const serve = await serving({
    records: {
      ...stores.records,
      put: (record) =>
        isAway && record.kind === "job-cancelled-told" ? Promise.reject(new Error("away")) : put(record),
    },
  });
  await working((job, step) => (step === 1 ? untilTold(job) : undefined));
  const id = await serve.launch(nameOf());
  await seen(id, "a step", ({ progress }) => progress === 1);
  await expect(serve.jobs.cancel(id, PAYER)).rejects.toThrow("away");
  isAway = false;
  await serve.jobs.cancel(id, PAYER);
  expect(await ended(id)).toMatchObject({ end: { cancelled: true }, chargedCents: 2 });
});

it("cancelled while it waits it ends unpaid at whoever takes it", async () => {
  const deaf = { news: jobNews(null) };
  const serve = await serving(deaf);
  await working(undefined, deaf);
  const id = await serve.launch(nameOf());
  await seen(id, "that it waits", ({ runner }) => runner === WAITING);
  await serve.jobs.cancel(id, PAYER);
  expect((await serve.jobs.open(10)).map((job) => job.id)).toEqual([id]);
  await working();
  expect(await ended(id)).toMatchObject({ state: "failed", end: { cancelled: true }, chargedCents: 0 });
  expect(asked).toEqual([]);
});

it("that is looked for while it is being left is found all the same", async () => {
  const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const deaf = { news: jobNews(null) };
  const work = await working(undefined, deaf);
  const { put, get } = stores.records;
  const slow: Records["put"] = async (record) => {
    if (record.value.includes(`"runner":"${WAITING}"`)) {
      reached.resolve();
      await go.promise;
    }
    return put(record);
  };
  const serve = await serving({ ...deaf, records: { ...stores.records, put: slow } });
  const id = await serve.launch(nameOf());
  await reached.promise;
  await work.jobs.adopt();
  go.resolve();
  const left = async () => ((await get("open-job", `${serve.self}/${id}`)) === null ? true : undefined);
  await eventually(left, "that it was left");
  await work.jobs.adopt();
  expect(await ended(id)).toMatchObject({ state: "succeeded", chargedCents: 3 });
});

it("that one process hears of and finds at the same time is in the list of those that it runs", async () => {
  const serve = await serving({ news: jobNews(null) });
  const { promise: going, resolve: go } = Promise.withResolvers<void>();
  const { promise: bothLook, resolve: look } = Promise.withResolvers<void>();
  const get: Records["get"] = async (kind, id) => {
    if (kind === "job") await bothLook;
    return stores.records.get(kind, id);
  };
  const work = await working(() => going, { records: { ...stores.records, get } });
  const ids = await Promise.all(Array.from({ length: 20 }, () => serve.launch(nameOf())));
  for (const id of ids) await seen(id, "that it waits", ({ runner }) => runner === WAITING);
  const { tell, hear } = jobNews(stores.others);
  const heard = new Set<string>();
  await hear(
    (id) => heard.add(id),
    () => {},
  );
  const finding = work.jobs.adopt();
  for (const id of ids) await tell(id);
  await eventually(() => (ids.every((id) => heard.has(id)) ? true : undefined), "all to be told of");
  look();
  await finding;
  for (const id of ids) await seen(id, "its runner", ({ runner }) => runner === work.self);
  const listed = await Promise.all(ids.map((id) => stores.records.get("open-job", `${work.self}/${id}`)));
  expect(listed.filter((one) => one === null)).toEqual([]);
  go();
  for (const id of ids) expect(await ended(id)).toMatchObject({ chargedCents: 3 });
  expect(asked).toHaveLength(60);
});

it("without a process that runs jobs a launch is refused before anything is held, and calls it off for no later one", async () => {
  const serve = await serving();
  const refused = await launchThroughKernel(stores, serve.jobs, nameOf());
  expect(refused.ended.error).toMatchObject({ code: "jobs_unavailable" });
  expect((await moneyOf(stores)).held).toBe(0);
  expect(await serve.jobs.find(refused.jobId, PAYER)).toBeNull();
  expect(await serve.jobs.open(10)).toEqual([]);
  const work = await working();
  const { told, jobId } = await launchThroughKernel(stores, serve.jobs, nameOf());
  expect(told).toBe(true);
  await ended(jobId);
  // A launch does not wait for a process that is gone either.
  await work.jobs.stop();
  const again = await launchThroughKernel(stores, serve.jobs, nameOf());
  expect(again.ended.error).toMatchObject({ code: "jobs_unavailable" });
});

/** A store that stops answering from the first matching operation on, as if its process had died there. */
function until(fits: (operation: string) => boolean): Records {
  let isDead = false;
  const dying = <Args extends readonly unknown[], T>(name: string, run: (...args: Args) => Promise<T>) => {
    return (...args: Args): Promise<T> => {
      isDead ||= fits(`${name} ${JSON.stringify(args)}`);
      return isDead ? Promise.reject(new Error("the process died here")) : run(...args);
    };
  };
  const { records } = stores;
  const { put, get, list } = records;
  return {
    ...records,
    put: dying("put", put),
    get: dying("get", get),
    list: dying("list", list),
    delete: dying("delete", records.delete),
  };
}

it.each([
  [
    "before it has left the job",
    (operation: string) => operation.startsWith("put") && operation.includes(`"${WAITING}/`),
  ],
  [
    "before the record says so",
    (operation: string) => operation.startsWith("put") && operation.includes(`runner\\":\\"${WAITING}`),
  ],
  [
    "before it has forgotten it",
    (operation: string) => operation.startsWith("delete") && operation.includes("open-job"),
  ],
])("a process that dies right after a launch, %s, has it run elsewhere once", async (_, at) => {
  const before = await moneyOf(stores);
  const idle = await working(undefined, { news: jobNews(null) });
  const serve = await serving({ records: until(at) });
  const { told, jobId } = await launchThroughKernel(stores, serve.jobs, nameOf());
  expect(told).toBe(true);
  await serve.jobs.stop();
  await dies(serve);
  await idle.jobs.adopt();
  expect(await ended(jobId)).toMatchObject({ state: "succeeded", runner: idle.self, chargedCents: 3 });
  await idle.jobs.adopt();
  expect(asked).toHaveLength(3);
  expect((await moneyOf(stores)).spent).toBe(before.spent + 3);
  await eventually(async () => ((await idle.jobs.open(10)).length === 0 ? true : undefined), "empty lists");
});

it("a launch of which the store did not say that it was written is told as failed, and run nowhere", async () => {
  const before = await moneyOf(stores);
  const { put } = stores.records;
  const serve = await serving({
    records: {
      ...stores.records,
      async put(record) {
        const version = await put(record);
        if (record.kind === "job" && record.value.includes('"queued"')) throw new Error("the answer was lost");
        return version;
      },
    },
  });
  const work = await working();
  const { told, jobId } = await launchThroughKernel(stores, serve.jobs, nameOf());
  expect(told).toBe(false);
  await work.jobs.adopt();
  expect(await work.jobs.find(jobId, PAYER)).toBeNull();
  expect(asked).toEqual([]);
  expect(await moneyOf(stores)).toEqual({ spent: before.spent, held: 0 });
});

it("a process that dies in the middle of a job leaves it to another that runs jobs, which goes on from there", async () => {
  const before = await moneyOf(stores);
  const serve = await serving();
  const first = await working((_, step) => (step === 2 ? forever() : undefined));
  const id = await serve.launch(nameOf());
  await seen(id, "two steps", ({ progress }) => progress === 2);
  const second = await working();
  await dies(first);
  // A process that runs no jobs takes none over.
  await serve.jobs.adopt();
  expect((await serve.jobs.find(id, PAYER))?.runner).toBe(first.self);
  await second.jobs.adopt();
  expect(await ended(id)).toMatchObject({ state: "succeeded", runner: second.self, chargedCents: 3 });
  expect(asked.map(({ by }) => by)).toEqual([first.self, first.self, second.self]);
  expect((await moneyOf(stores)).spent).toBe(before.spent + 3);
});

// Jobs, and the running of actions that they are made of.

import { randomUUID } from "node:crypto";
import { cancelAction } from "../actions/jobs/cancel-action.ts";
import { createJobEvents } from "../actions/jobs/job-events.ts";
import { jobNews } from "../actions/jobs/job-news.ts";
import type { JobRecord } from "../actions/jobs/job-record.ts";
import { type JobView, jobRow, jobView } from "../actions/jobs/job-view.ts";
import { createJobs, type Jobs } from "../actions/jobs/jobs.ts";
import { KEPT_LEASE_MS } from "../actions/run/action-plan.ts";
import type { RunDeps } from "../actions/run/deps.ts";
import { openRun } from "../actions/run/inner-calls.ts";
import { paidTimeEndings } from "../actions/run/paid-time-endings.ts";
import { createPaidTimes } from "../actions/run/paid-times.ts";
import { resultAction } from "../actions/run/result-action.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { JobKind } from "../catalog/job-kind.ts";
import { JsonInParts, type LocalAction } from "../catalog/local-action.ts";
import { systemClock } from "../core/clock.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import type { CallWindows } from "../kernel/windows.ts";
import type { ChatDeps } from "../models/chat/model-plan.ts";
import { nativePlan } from "../models/chat/native-plan.ts";
import { adminEndpoint } from "../money/accounts/admin-accounts.ts";
import { type Names, named } from "../money/accounts/names.ts";
import type { Observer } from "../platform/observe/observer.ts";
import type { JobRows } from "../platform/records/job-rows.ts";
import type { Records } from "../platform/records/records.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { innerChat, innerSpeech } from "./inner-chat.ts";
import type { OpenActions } from "./open-actions.ts";
import type { Stores } from "./stores.ts";

/** A process that has not said for so long that it lives has died, and its jobs go to others. */
const RUNNER_LEASE_MS = 20_000;

export interface OpenJobsParts {
  readonly keptBytesMax: number;
  /** No answer of an action is passed on before all of it is there. */
  readonly readsWhole: boolean;
  /** Jobs are run here; false: they are left to other processes. */
  readonly works: boolean;
  readonly stores: Stores;
  readonly windows: CallWindows;
  readonly observer: Pick<Observer, "unpaid">;
  readonly kinds: readonly JobKind[];
  /** This process. */
  readonly owner: string;
  readonly catalog: () => Catalog;
  readonly actionCatalog: OpenActions;
  readonly upstream: Upstream;
  /** What calls of models need that functions of ours make. */
  readonly chat: ChatDeps;
  readonly onBroken: KernelDeps["onBroken"];
  /** A job that ran here is over. */
  readonly onEnded: (job: JobRecord) => void;
  readonly keepEnd: (job: JobRecord) => Promise<void>;
}

export interface OpenJobs {
  readonly jobs: Jobs;
  /** Machines whose time is paid, as what ends by itself. */
  readonly paidTimes: ReturnType<typeof paidTimeEndings>;
  readonly kernel: KernelDeps;
  readonly run: RunDeps;
}

export interface JobActionsParts {
  readonly records: Records;
  /** Of jobs that keep the rows of their results apart. */
  readonly rows: JobRows;
  readonly catalog: () => Catalog;
  /** Asked at each call: the jobs are made after the actions that they run. */
  readonly jobs: () => Jobs;
  readonly draining: () => boolean;
}

/** What is told of a job that is over, with the rows that are kept apart; null: they have left. */
async function withRows(
  view: JobView,
  names: readonly string[] | undefined,
  rows: JobRows,
): Promise<JobView | JsonInParts | null> {
  if (names === undefined || typeof view.result !== "object") return view;
  const texts = await rows.texts(names);
  if (texts === null) return null;
  const place = randomUUID();
  const json = JSON.stringify({ ...view, result: { ...view.result, rows: place } });
  const [before = "", after = ""] = json.split(`"${place}"`);
  return new JsonInParts(around(before, texts, after));
}

/** An answer as JSON; null: there is none, or it is longer than that. */
async function textOf(answer: JobView | JsonInParts | null, charsMax: number): Promise<string | null> {
  if (answer === null) return null;
  const kept: Uint8Array[] = [];
  let length = 0;
  for await (const part of answer instanceof JsonInParts ? answer.parts : [Buffer.from(JSON.stringify(answer))]) {
    length += part.length;
    if (length > charsMax) return null;
    kept.push(part);
  }
  return Buffer.concat(kept).toString("utf8");
}

async function* around(before: string, rows: AsyncIterable<Uint8Array>, after: string): AsyncGenerator<Uint8Array> {
  let between = `${before}[`;
  for await (const row of rows) {
    yield Buffer.from(between);
    yield row;
    between = ",";
  }
  yield Buffer.from(`${between === "," ? "" : between}]${after}`);
}

/** The actions on jobs: core/result and core/cancel. */
export function jobActions({ records, rows, catalog, jobs, draining }: JobActionsParts): readonly LocalAction[] {
  const result = resultAction({
    records,
    clock: systemClock,
    sold: (id, audience) => catalog().action(id, audience),
    async ownJob(id, payer) {
      const job = await jobs().find(id, payer);
      return job === null ? null : withRows(jobView(job), job.end?.rows, rows);
    },
    ownEvents: createJobEvents({
      jobs,
      clock: systemClock,
      draining,
      ended: async (job, charsMax) => textOf(await withRows(jobView(job), job.end?.rows, rows), charsMax),
    }),
  });
  return [result, cancelAction(jobs)];
}

const LISTED_MAX = 10_000;

/** What the operator sees of the jobs of all processes: those that are not over. */
export function jobsEndpoint(jobs: Jobs, books: Names): EndpointSpec {
  return adminEndpoint("GET", "/admin/v1/jobs", async () => {
    const nowMs = systemClock.epochMs();
    const rows = await named(books, null, await jobs.open(LISTED_MAX), (job) => jobRow(job, nowMs));
    return { status: 200, body: { jobs: rows.sort((a, b) => b.still_seconds - a.still_seconds) } };
  });
}

/** Nothing runs before `jobs.start`. */
export function openJobs(parts: OpenJobsParts): OpenJobs {
  const {
    stores,
    windows,
    observer,
    kinds,
    owner,
    catalog,
    actionCatalog,
    upstream,
    chat,
    onBroken,
    onEnded,
    keepEnd,
    keptBytesMax,
    readsWhole,
    works,
  } = parts;
  const { ledger, records, shared } = stores;
  const clock = systemClock;
  // Running an action may leave a job behind, and a job runs actions.
  const innerCalls: RunDeps["innerCalls"] = (outer) => run.innerCalls(outer);
  const jobs = createJobs({
    ledger,
    windows,
    observer,
    records,
    clock,
    kinds,
    self: owner,
    shared,
    works,
    news: jobNews(stores.others),
    runnerLeaseMs: RUNNER_LEASE_MS,
    holdLeaseMs: KEPT_LEASE_MS,
    innerCalls,
    onBroken,
    onEnded,
    keepEnd,
  });
  const { health } = upstream;
  const kernel: KernelDeps = { clock, records, keptBytesMax, health, keeper: jobs.keeper, onBroken };
  const run = openRun({
    actionCatalog: actionCatalog.actionCatalog,
    upstream,
    records,
    paidTimes: createPaidTimes({ records, clock, ledger, windows }),
    kernel,
    readsWhole,
    keepBytes: actionCatalog.files.keepBytes,
    linkFile: actionCatalog.files.link,
    modelPlan: (action, call) => nativePlan(action, call, chat),
    chatPlan: innerChat(chat),
    speechPlan: innerSpeech(chat),
  });
  const metering = { ledger, windows, observer, owner };
  const paidTimes = paidTimeEndings({ ...metering, records, clock, upstream, catalog, onBroken });
  return { jobs, paidTimes, kernel, run };
}

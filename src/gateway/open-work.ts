// What a gateway does for its callers: how calls are paid and run, jobs, events, and background work.

import { batchKind } from "../actions/batches/batch-kind.ts";
import { BatchPlaces } from "../actions/batches/batch-part.ts";
import { LeftFiles } from "../actions/batches/left-files.ts";
import type { LineCalls } from "../actions/batches/line-calls.ts";
import { cancelJobs } from "../actions/jobs/cancelled.ts";
import { jobNews } from "../actions/jobs/job-news.ts";
import type { JobRecord } from "../actions/jobs/job-record.ts";
import { Jobs } from "../actions/jobs/jobs.ts";
import { KEPT_LEASE_MS } from "../actions/run/action-plan.ts";
import type { RunDeps } from "../actions/run/deps.ts";
import { openRun } from "../actions/run/inner-calls.ts";
import { prepaidSessionCleanups } from "../actions/run/prepaid-session-cleanups.ts";
import { PrepaidSessions } from "../actions/run/prepaid-sessions.ts";
import { UNCLOSED } from "../actions/sessions/box-cleanups.ts";
import { SESSION_JOB } from "../actions/sessions/session-kind.ts";
import { systemClock } from "../core/clock.ts";
import { requestIdOf } from "../core/ids.ts";
import { minus, ZERO } from "../core/money.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import { type CallWindows, createWindows } from "../kernel/windows.ts";
import { nativePlan } from "../models/chat/native-plan.ts";
import { type Config, doesWork } from "../platform/config.ts";
import type { Metrics } from "../platform/observe/metrics.ts";
import type { EndedJob } from "../platform/observe/observer.ts";
import { Cleanups } from "../platform/records/cleanups.ts";
import { BatchLines, batchVendors, NO_LIMITS } from "./batch-lines.ts";
import { type OpenCallers, openCallers, unsoldIn } from "./callers.ts";
import { type OpenEvents, openEvents } from "./events.ts";
import { innerChat, innerSpeech } from "./inner-chat.ts";
import { type OpenActions, openActions } from "./open-actions.ts";
import { openPeople } from "./open-edge.ts";
import type { Foundation } from "./open-foundation.ts";
import { chatDeps, modelEndpoints, openGuards } from "./open-models.ts";
import { openAnonymousPayers, openLeases } from "./open-money.ts";
import { openRequestLog } from "./request-log.ts";
import { shareRoutes } from "./share-routes.ts";
import { LEASE_MS } from "./stores.ts";

/** A process that is silent for this long is dead; other processes adopt its jobs. */
const RUNNER_LEASE_MS = 20_000;

export type Work = Awaited<ReturnType<typeof openWork>>;

/** Rejects where the file store cannot be opened, or what an earlier process left cannot be read. */
export async function openWork(foundation: Foundation) {
  const { options, config, phase, observer, stores, upstream, spanContents, wallets, opened } = foundation;
  // The parent serves no callers: its children tell it about routes.
  opened.add(await shareRoutes(upstream, stores.others, options.role?.kind !== "parent"));
  const actionCatalog = await openActions(foundation, () => jobs);
  const callers = await openCallers(foundation);
  const leases = await openLeases(foundation);
  const events = openEvents(foundation);
  callers.runs.onAsk = events.runAsks;
  const windows = windowsFor(config, callers);
  const lines = new BatchLines({
    catalog: foundation.catalog.current,
    callers,
    open: (catalog) => ({
      endpoints: modelEndpoints(foundation, run, actionCatalog, { freeWindows: NO_LIMITS, catalog }),
      deps: work.deps,
    }),
  });
  const { jobs, kernel, run, cleanups } = openJobs(foundation, { windows, actionCatalog, events, lines, callers });
  callers.runs.onStopped = (accountId, isPart) => cancelJobs(stores.records, jobs, accountId, isPart);
  observer.onScrape((gauges) => showWork(gauges, callers, jobs, cleanups));
  const people = await openPeople(foundation, callers, actionCatalog);
  const anonymousPayers = await openAnonymousPayers({ ...foundation, actionCatalog, leases });
  opened.add(() => wallets.reconciler?.stop());
  const guards = openGuards(foundation, kernel);
  const requestLog = openRequestLog(foundation);
  opened.add(() => requestLog.close());
  opened.add(() => cleanups.stop());
  // Jobs stop first: they use all of the above.
  opened.add(() => jobs.stop());
  const { ledger, rates, owner } = stores;
  const anonymousPayer = options.anonymousPayer ?? anonymousPayers?.door ?? null;
  const paying = { ledger, rates, windows, leases, leaseMs: LEASE_MS, owner, forget: callers.forget, anonymousPayer };
  const watching = { ...guards, requestLog, ...(spanContents === null ? {} : { spanContents }) };
  const doors = { ...callers.doors, ...people?.doors, ...events.doors, ...watching };
  const work = {
    actionCatalog,
    unsold: unsoldIn(foundation.catalog.current, actionCatalog.actionCatalog),
    callers,
    jobs,
    lines,
    run,
    anonymousPayers,
    events,
    requestLog,
    /** How people sign in and clients get grants; null: both are disabled. */
    people,
    /** What both listeners need to serve requests. */
    deps: { ...kernel, ...doors, ...paying, observer, draining: () => phase.draining },
    /** Starts the background work: adopts jobs, and closes expired sessions' machines. */
    async start() {
      await jobs.start();
      if (!doesWork(config)) return;
      cleanups.start();
      events.dispatcher.start();
      anonymousPayers?.start();
      wallets.reconciler?.start();
    },
  };
  return work;
}

function showWork(gauges: Metrics, callers: OpenCallers, jobs: Jobs, cleanups: Cleanups): void {
  gauges.answersWaiting.set(callers.doors.answers.bytes);
  const { running, oldestMs, stillMs, adopted, ended } = jobs.seen();
  gauges.jobsRunning.set(running);
  gauges.jobsOldest.set(oldestMs / 1000);
  gauges.jobsStill.set(stillMs / 1000);
  gauges.jobsAdopted.cell({}).total = adopted;
  for (const { kind, status, count } of ended) gauges.jobsEnded.cell({ kind, status }).total = count;
  gauges.sessionsOpen.set(jobs.running(SESSION_JOB));
  const unclosed = cleanups.seen(UNCLOSED);
  gauges.boxesUnclosed.set(unclosed.count);
  gauges.boxesUnclosedOldest.set(unclosed.oldestMs / 1000);
}

/** Work that outlives its request reads the budgets of its key again. */
function windowsFor({ unpaidCostNano }: Config, callers: OpenCallers): CallWindows {
  return createWindows(
    unpaidCostNano > 0 ? unpaidCostNano : null,
    ({ accountId, keyId }) => callers.ofWorkGoingOn(accountId, keyId),
    ({ accountId, runId }) => (runId === undefined ? Promise.resolve(null) : callers.runs.find(accountId, runId)),
  );
}

/** Jobs and the runner of actions, which need each other. No job runs before `jobs.start`. */
function openJobs(
  foundation: Foundation,
  working: {
    callers: OpenCallers;
    actionCatalog: OpenActions;
    events: OpenEvents;
    windows: CallWindows;
    lines: LineCalls;
  },
) {
  const { windows, actionCatalog, events, lines, callers } = working;
  const { config, stores, observer, upstream, catalog, onBroken } = foundation;
  const { ledger, records, shared, owner, others } = stores;
  const clock = systemClock;
  const vendors = batchVendors(upstream, catalog.current, config);
  const left = new LeftFiles(records, vendors);
  const batch = batchKind({
    onBroken,
    vendors,
    left,
    files: actionCatalog.batchFiles,
    calls: lines,
    places: new BatchPlaces(),
    clock,
    onLines: observer.batchLines,
    async free(accountId) {
      const account = await ledger.account(accountId);
      return account === null ? ZERO : minus(minus(account.grantedNano, account.spentNano), account.heldNano);
    },
  });
  const jobs = new Jobs({
    ledger,
    windows,
    observer,
    records,
    clock,
    kinds: [...actionCatalog.jobKinds, batch],
    self: owner,
    shared,
    works: doesWork(config),
    news: jobNews(others),
    runnerLeaseMs: RUNNER_LEASE_MS,
    holdLeaseMs: KEPT_LEASE_MS,
    innerCalls: (outer) => run.innerCalls(outer),
    onBroken,
    passedMark: (accountId, runId) => callers.runs.passedMark(accountId, runId),
    onEnded: (job) => observer.jobEnded(endedJob(job)),
    keepEnd: events.keepEnd,
  });
  const { health } = upstream;
  const { keptBytesMax } = config;
  const kernel: KernelDeps = { clock, records, keptBytesMax, health, keeper: jobs.keeper, onBroken };
  const chat = chatDeps(foundation);
  const run: RunDeps = openRun({
    actionCatalog: actionCatalog.actionCatalog,
    upstream,
    records,
    prepaidSessions: new PrepaidSessions({ records, clock, ledger, windows }),
    kernel,
    // A guard over answers must see the whole answer before it is passed on.
    readsWhole: config.guardAnswers,
    keepBytes: actionCatalog.files.keepBytes,
    linkFile: actionCatalog.files.link,
    modelPlan: (action, call) => nativePlan(action, call, chat),
    chatPlan: innerChat(chat),
    speechPlan: innerSpeech(chat),
  });
  const metering = { ledger, windows, observer, owner, records, clock, upstream, catalog: catalog.current, onBroken };
  const kinds = [actionCatalog.sessions.unclosed, prepaidSessionCleanups(metering), left];
  return { jobs, kernel, run, cleanups: new Cleanups({ records, clock, onBroken }, kinds) };
}

function endedJob(job: JobRecord): EndedJob {
  const { id, kind, action = kind, hold, chain, payer, state, createdAtMs, chargedCents, legs, callerTraceId } = job;
  const firstHoldId = chain?.firstId ?? hold.holdId;
  return {
    id,
    launch: { requestId: requestIdOf(firstHoldId), callerTraceId: callerTraceId ?? null },
    action,
    accountId: hold.accountId,
    sandbox: payer.sandbox,
    succeeded: state === "succeeded",
    startedAtMs: createdAtMs,
    chargedCents,
    legs,
  };
}

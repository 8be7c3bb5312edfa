// What a gateway does for its callers: the actions, composites, sessions and jobs, and how a call is paid and run.

import type { JobRecord } from "../actions/jobs/job-record.ts";
import type { Jobs } from "../actions/jobs/jobs.ts";
import type { RunDeps } from "../actions/run/deps.ts";
import { SESSION_JOB } from "../actions/sessions/session-kind.ts";
import { UNCLOSED } from "../actions/sessions/unclosed.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint, EndpointSpec } from "../core/endpoint.ts";
import type { OpenIdProvider } from "../edge/oauth/openid-provider.ts";
import type { Sessions } from "../edge/oauth/sessions.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import { type CallWindows, createWindows } from "../kernel/windows.ts";
import type { Proof } from "../money/accounts/admin-endpoints.ts";
import { type Config, doesWork } from "../platform/config.ts";
import { logInternalErrors } from "../platform/observe/internal-error.ts";
import type { EndedJob, Observer } from "../platform/observe/observer.ts";
import type { RequestLog } from "../platform/observe/request-log.ts";
import { Endings } from "../platform/records/endings.ts";
import { closedIfFailed, type Opened } from "./closed-if-failed.ts";
import type { Phase } from "./drain.ts";
import { later } from "./later.ts";
import type { DoorDeps } from "./listeners.ts";
import { type OpenActions, openActions } from "./open-actions.ts";
import { type OpenCallers, openCallers } from "./open-callers.ts";
import { openComposites } from "./open-composites.ts";
import { type OpenEvents, openEvents } from "./open-events.ts";
import type { Foundation } from "./open-foundation.ts";
import { openGuards } from "./open-guards.ts";
import { jobActions, type OpenJobsParts, openJobs } from "./open-jobs.ts";
import { openLeases } from "./open-leases.ts";
import { openOAuth } from "./open-oauth.ts";
import { openRequestLog } from "./open-request-log.ts";
import { openGatewaySessions } from "./open-sessions.ts";
import { openStrangers } from "./open-strangers.ts";
import type { GatewayOptions } from "./options.ts";
import { chatDeps } from "./public-endpoints.ts";
import { createPublicUrl, type PublicUrl } from "./public-url.ts";
import { shareRoutes } from "./share-routes.ts";
import { LEASE_MS } from "./stores.ts";

export interface Work {
  readonly url: PublicUrl;
  readonly actionCatalog: OpenActions;
  readonly callers: OpenCallers;
  readonly jobs: Jobs;
  readonly run: RunDeps;
  /** By which an account fills itself on chain; null: it cannot. */
  readonly topUp: EndpointSpec | null;
  /** What `doctor` holds against chains. */
  readonly proofs: readonly Proof[];
  /** What the operator asks of payments on chain. */
  readonly payments: readonly EndpointSpec[];
  readonly events: OpenEvents;
  readonly requestLog: RequestLog;
  /** Where people sign in and clients ask for grants; empty: they cannot. */
  readonly oauth: readonly Endpoint[];
  /** Who has signed in; null: no person can. */
  readonly sessions: Sessions | null;
  /** By which people sign in beside keys; null: there is none. */
  readonly openId: OpenIdProvider | null;
  /** What both doors ask of it. */
  readonly deps: DoorDeps;
  /** Begins with work of its own: jobs that others have left, and machines whose time is over. Where others work, it begins to leave jobs to them. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** What is under way is seen in the metrics. */
function showWork(
  observer: Observer,
  { callers, jobs, endings }: Pick<Work, "callers" | "jobs"> & { endings: Endings },
) {
  observer.onScrape({
    answersWaitingBytes: () => callers.doors.answers.bytes,
    jobs: () => jobs.seen(),
    sessions: () => ({ open: jobs.running(SESSION_JOB), unclosed: endings.seen(UNCLOSED) }),
  });
}

/** Rejects where the store of files cannot be opened, or what an earlier process has left cannot be read; then nothing of it is left open. */
export function openWork(foundation: Foundation, options: GatewayOptions, phase: Phase): Promise<Work> {
  return closedIfFailed((opened) => workOf(foundation, { options, phase, opened }));
}

interface WorkParts {
  readonly options: GatewayOptions;
  readonly phase: Phase;
  readonly opened: Opened;
}

/** What beats by itself from here on: what processes tell each other, the leases of holds, and what is told of events. */
async function openBeats(foundation: Foundation, { options, phase, opened }: WorkParts) {
  const { upstream, stores } = foundation;
  // The parent serves no caller: what it tells the operator of routes, it hears from the others.
  const sharedRoutes = await shareRoutes(upstream, stores.others, options.role?.kind !== "parent");
  opened(sharedRoutes.stop);
  const leases = await openLeases(foundation);
  opened(leases.stop);
  const events = openEvents(foundation, phase, options.internet);
  opened(events.close);
  return { sharedRoutes, leases, events };
}

async function workOf(foundation: Foundation, opening: WorkParts): Promise<Work> {
  const { options, phase, opened } = opening;
  const { broken, observer, stores } = foundation;
  const onBroken = logInternalErrors(broken);
  const url = createPublicUrl(foundation.config);
  const madeJobs = later<Jobs>("jobs");
  const parts = { jobs: madeJobs.get, phase, publicUrl: url.get, onBroken, opened };
  const { actionCatalog, composites, sessions } = await openCallable(foundation, options, parts);
  const callers = await openCallers(foundation, url.get);
  const { sharedRoutes, leases, events } = await openBeats(foundation, opening);
  const { owner } = stores;
  const windows = windowsFor(foundation.config, callers);
  const kinds = [...composites.jobKinds, sessions.kind, ...(options.jobKinds ?? [])];
  const onEnded = (job: JobRecord) => observer.jobEnded(endedJob(job));
  const own = { windows, kinds, owner, actionCatalog, onEnded, keepEnd: events.keepEnd, onBroken };
  const { jobs, paidTimes, kernel, run } = openGatewayJobs(foundation, own);
  madeJobs.set(jobs);
  const { ledger, rates, records } = stores;
  const endings = new Endings({ records, clock: systemClock, onBroken }, [sessions.unclosed, paidTimes]);
  showWork(observer, { callers, jobs, endings });
  const oauth = openOAuth({ ...foundation, actionCatalog, callers, publicUrl: url.get, internet: options.internet });
  const selling = { ...foundation, actionCatalog, publicUrl: url.get, leases, owner, onBroken };
  const strangers = await openStrangers({ ...selling, wallet: options.wallet });
  const stranger = options.stranger ?? strangers?.door ?? null;
  const watching = openWatching(foundation, kernel);
  const doors = { ...callers.doors, ...oauth?.doors, ...events.doors, ...watching.doors };
  const paying = { ledger, rates, windows, leases, leaseMs: LEASE_MS, owner, forget: callers.forget, stranger };
  return {
    url,
    actionCatalog,
    callers,
    jobs,
    run,
    topUp: strangers?.topUp ?? null,
    proofs: [strangers?.prove ?? null, foundation.wallets.prove].filter((prove) => prove !== null),
    payments: [...(strangers?.admin ?? []), ...foundation.wallets.admin],
    oauth: oauth?.endpoints ?? [],
    sessions: oauth?.sessions ?? null,
    openId: oauth?.openId ?? null,
    events,
    requestLog: watching.doors.requestLog,
    deps: { ...kernel, ...doors, ...paying, observer, draining: () => phase.draining },
    async start() {
      await jobs.start();
      if (!doesWork(foundation.config)) return;
      endings.start();
      events.teller.start();
      strangers?.start();
      foundation.wallets.reconciler?.start();
    },
    async close() {
      await jobs.stop();
      await events.close();
      await endings.stop();
      await strangers?.stop();
      await foundation.wallets.reconciler?.stop();
      oauth?.close();
      await Promise.all([composites.close(), watching.close()]);
      actionCatalog.close();
      await leases.stop();
      sharedRoutes.stop();
    },
  };
}

/** What looks at calls and answers for the operator: the guard, the log of those that are kept, the spans that tell them. */
function openWatching(foundation: Foundation, kernel: KernelDeps) {
  const guards = openGuards(foundation, kernel);
  const requestLog = openRequestLog(foundation);
  const { spanContents } = foundation;
  return {
    doors: { ...guards.doors, requestLog, ...(spanContents === null ? {} : { spanContents }) },
    async close() {
      guards.close();
      await requestLog.close();
    },
  };
}

/** For a span of the operator's collector. */
function endedJob(job: JobRecord): EndedJob {
  const { id, kind, action = kind, hold, chain, payer, state, createdAtMs, chargedCents, legs, callerTraceId } = job;
  const firstHoldId = chain?.firstId ?? hold.holdId;
  return {
    id,
    launch: { requestId: firstHoldId.replace(/^tx_/, "req_"), callerTraceId: callerTraceId ?? null },
    action,
    accountId: hold.accountId,
    sandbox: payer.sandbox,
    succeeded: state === "succeeded",
    startedAtMs: createdAtMs,
    chargedCents,
    legs,
  };
}

function openGatewayJobs(
  foundation: Foundation,
  own: Pick<OpenJobsParts, "windows" | "kinds" | "owner" | "actionCatalog" | "onEnded" | "keepEnd" | "onBroken">,
) {
  const { stores, observer, upstream, catalog, config } = foundation;
  const { keptBytesMax, guardAnswers: readsWhole } = config;
  const chat = chatDeps(foundation);
  const works = doesWork(config);
  const parts = { stores, observer, upstream, catalog: catalog.current, keptBytesMax, readsWhole, works, chat };
  return openJobs({ ...own, ...parts });
}

/** Work that goes on reads the budgets of its key anew. */
function windowsFor({ unpaidCostNano }: Config, callers: OpenCallers): CallWindows {
  return createWindows(unpaidCostNano > 0 ? unpaidCostNano : null, ({ accountId, keyId }) =>
    callers.ofWorkGoingOn(accountId, keyId),
  );
}

interface CallableParts {
  /** Asked at each call: a job is launched by actions, and runs actions. */
  readonly jobs: () => Jobs;
  readonly phase: Phase;
  readonly publicUrl: () => string;
  readonly onBroken: KernelDeps["onBroken"];
  readonly opened: Opened;
}

/** What can be called, and what that is made of. Composites are actions that call others. */
async function openCallable(
  foundation: Foundation,
  options: GatewayOptions,
  { jobs, phase, publicUrl, onBroken, opened: opens }: CallableParts,
) {
  const { config, log, stores, catalog, upstream } = foundation;
  const { records, shared } = stores;
  const actions = later<OpenActions>("actions");
  const { internet = {}, actions: moreActions = [] } = options;
  const composites = openComposites({ config, log, records, shared, catalog, internet, actions: actions.get });
  opens(composites.close);
  const sessions = openGatewaySessions({ stores, catalog, upstream, jobs, onBroken });
  const draining = () => phase.draining;
  const ofJobs = jobActions({ records, rows: composites.rows, catalog: catalog.current, jobs, draining });
  const opened = await openActions({
    config,
    log,
    books: stores.ledger,
    records,
    catalog,
    publicUrl,
    purseFor: foundation.wallets.purseFor,
    internet,
    ofVendor: sessions.actionsOf,
    moreActions: [...ofJobs, ...composites.actions, ...moreActions],
  });
  opens(opened.close);
  for (const name of opened.localNames) foundation.localNames.add(name);
  return { composites, sessions, actionCatalog: actions.set(opened) };
}

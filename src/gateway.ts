// The composition root: config -> stores -> catalog -> upstream -> servers. The parts in gateway/ are wired here by hand, each from those above it.
import { join } from "node:path";
import type { Readiness } from "./accounts/admin-endpoints.ts";
import type { JobKind } from "./catalog/job-kind.ts";
import type { LocalAction } from "./catalog/local-action.ts";
import { createTokenCounter } from "./chat/token-counter.ts";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { signingSecrets } from "./files/signed-links.ts";
import { createDrain, type Phase } from "./gateway/drain.ts";
import { type DoorDeps, listenAdmin, listenPublic } from "./gateway/listeners.ts";
import { openActions } from "./gateway/open-actions.ts";
import { openCallers } from "./gateway/open-callers.ts";
import { openCatalog } from "./gateway/open-catalog.ts";
import { openComposites } from "./gateway/open-composites.ts";
import { jobActions, jobsEndpoint, openJobs } from "./gateway/open-jobs.ts";
import { openLeases } from "./gateway/open-leases.ts";
import { openObserver } from "./gateway/open-observer.ts";
import { openGatewaySessions } from "./gateway/open-sessions.ts";
import { operatorEndpoints } from "./gateway/operator-endpoints.ts";
import { chatDeps, publicEndpoints } from "./gateway/public-endpoints.ts";
import { createPublicUrl, listenerUrl } from "./gateway/public-url.ts";
import { logRefusedKeys } from "./gateway/refused-key.ts";
import { setupOf } from "./gateway/setup.ts";
import { shareRoutes } from "./gateway/share-routes.ts";
import { nextWords, startWords } from "./gateway/start-words.ts";
import { storeOutage } from "./gateway/store-outage.ts";
import { tellUnpriced } from "./gateway/unpriced-usage.ts";
import { unsoldIn } from "./gateway/unsold.ts";
import { createWindows } from "./kernel/windows.ts";
import { createRequestWindows } from "./limits/request-windows.ts";
import { openFailedCalls } from "./observe/failed-calls.ts";
import { logInternalErrors } from "./observe/internal-error.ts";
import { createLog, type LogOptions } from "./observe/log.ts";
import type { StrangerDoor } from "./serve/deps.ts";
import { SESSION_JOB } from "./sessions/session-kind.ts";
import { type DiskRoom, diskBounds, diskRoom, lowDiskText } from "./storage/disk-guard.ts";
import { LEASE_MS, openStores, type Stores } from "./stores.ts";
import { createPublicFetch, type PublicFetchOptions } from "./upstream/public-fetch.ts";
import { createUpstream } from "./upstream/upstream.ts";

/** A running gateway. */
export interface Gateway {
  readonly url: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  /** The sandbox upstream of this process; null where there is none. */
  readonly sandboxUrl: string | null;
  /** What the operator is told at the start, in lines. */
  startWords(): Promise<readonly string[]>;
  /** Reads adapters, tiers and the overlay again; on an error the old catalog stays. */
  reload(): Promise<void>;
  /** Stops accepting, lets running answers finish up to the configured time, settles and closes everything. */
  drain(): Promise<void>;
  /** The same where other processes share the port: nobody is turned away, and running answers have all the time they may take. */
  retire(): Promise<void>;
  /** Everything counted here, in Prometheus' text format. */
  metricsText(): Promise<string>;
}

/** The part of a process that is one of several: the parent watches and administers, its children serve callers. */
export type Role =
  | {
      readonly kind: "parent";
      /** Of all processes together. */
      readonly readiness: () => Readiness;
      readonly metricsText: () => Promise<string>;
    }
  | {
      readonly kind: "child";
      /** What this process alone keeps lies here. */
      readonly ownDir: string;
    };

export interface GatewayOptions {
  readonly config: Config;
  /** Where log lines go instead of standard output. */
  readonly logStream?: LogOptions["stream"];
  /** The store has broken for good: the process should end. */
  readonly onFatal: (error: Error) => void;
  /** Left out where this process is all there is. */
  readonly role?: Role;
  /** Actions and kinds of jobs beside our own. */
  readonly actions?: readonly LocalAction[];
  readonly jobKinds?: readonly JobKind[];
  /** How the pages of the internet are reached in tests. */
  readonly internet?: PublicFetchOptions;
  /** How callers without a key pay. Left out: they need a key. */
  readonly stranger?: StrangerDoor;
}

/** Starts a gateway. Rejects with a sentence for the operator where a port, a folder or a file is not as it must be. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, logStream, onFatal, role, actions: moreActions = [], jobKinds = [], internet = {} } = options;
  const clock = systemClock;
  const log = createLog({
    level: config.logLevel,
    format: config.logFormat,
    clock,
    ...(logStream === undefined ? {} : { stream: logStream }),
  });
  let answers: (() => Promise<boolean>) | null = null;
  const { broken, stop: stopTelling } = storeOutage({ log, clock, answers: () => answers });
  const ownDir = role?.kind === "child" ? role.ownDir : config.dataDir;
  const stores = await openStores(
    { ...config, dataDir: ownDir },
    { onFatal, onBroken: (error) => broken(error, "the store failed"), archiveDir: config.dataDir },
  );

  answers = stores.answers;
  const catalog = await openCatalog(config);
  const upstream = createUpstream(
    clock,
    logRefusedKeys(log),
    createPublicFetch(),
    createRequestWindows({ clock }),
    tellUnpriced(log, () => observer),
  );
  const counter = createTokenCounter(signingSecrets(config.signingSecret, config.dataDir));
  const url = createPublicUrl(config);
  const composites = openComposites({
    config,
    log,
    records: stores.records,
    catalog,
    internet,
    actions: () => actionCatalog,
  });
  const onBroken = logInternalErrors(broken);
  const sessions = openGatewaySessions({ stores, catalog, upstream, jobs: () => jobs, onBroken });
  const actionCatalog = await openActions({
    config,
    log,
    records: stores.records,
    catalog,
    publicUrl: url.get,
    ofVendor: sessions.actionsOf,
    moreActions: [
      ...jobActions({
        records: stores.records,
        rows: composites.rows,
        catalog: catalog.current,
        jobs: () => jobs,
        draining: () => phase.draining,
      }),
      ...composites.actions,
      ...moreActions,
    ],
  });
  const isKnown = (name: string) => catalog.names().has(name) || actionCatalog.localNames.has(name);
  const failedCalls = openFailedCalls({
    file: join(config.dataDir, "failed-calls.log"),
    clock,
    onBroken: (err) => log.logger.warn({ err }, "failed calls could not be noted"),
  });
  const disk = () => diskRoom(ownDir, diskBounds(config.diskFreeMibMin));
  const otelName = (id: string) => catalog.current().adapters({ sandbox: true }).get(id)?.spec.otelName ?? id;
  const observer = openObserver({
    log,
    isKnown,
    otelName,
    stores,
    upstream,
    looksAtBooks: role?.kind !== "child",
    disk,
    failedCalls,
    broken,
  });

  const callers = await openCallers(config, stores);
  // The parent serves nobody, so it knows of no route.
  const sharedRoutes = await shareRoutes(upstream, role?.kind === "parent" ? null : stores.others);
  const { leases, owner } = await openLeases(stores, broken);
  const { keptBytesMax, unpaidCostNano } = config;
  const windows = createWindows(unpaidCostNano > 0 ? unpaidCostNano : null);
  const kinds = [...composites.jobKinds, sessions.kind, ...jobKinds];
  const chat = chatDeps({ config, catalog, upstream, counter, observer });
  const parts = {
    stores,
    windows,
    observer,
    kinds,
    owner,
    catalog: catalog.current,
    actionCatalog,
    upstream,
    chat,
    keptBytesMax,
    onBroken,
  };
  const { jobs, paidTimes, kernel, run } = openJobs(parts);
  observer.onScrape({
    answersWaitingBytes: () => callers.doors.answers.bytes,
    jobs: () => jobs.seen(),
    sessions: () => ({ open: jobs.running(SESSION_JOB), unclosed: sessions.unclosed() }),
  });
  const phase: Phase = { draining: false };
  const deps: DoorDeps = {
    ...kernel,
    ...callers.doors,
    observer,
    ledger: stores.ledger,
    windows,
    leases,
    leaseMs: LEASE_MS,
    owner,
    forget: callers.forget,
    stranger: options.stranger ?? null,
    draining: () => phase.draining,
  };

  const unsold = unsoldIn({ catalog: catalog.current, actionCatalog: actionCatalog.actionCatalog });
  const asked = {
    config,
    stores,
    catalog,
    actionCatalog,
    callers,
    upstream,
    counter,
    observer,
    run,
    unsold,
    publicUrl: url.get,
  };
  const endpoints = publicEndpoints(asked);
  // The parent speaks for all processes; any other one for itself.
  const { readiness, metricsText } =
    role?.kind === "parent" ? role : { readiness: () => readinessOf(phase), metricsText: () => observer.metricsText() };
  const sharesPort = role !== undefined;
  const publicServer = role?.kind === "parent" ? null : await listenPublic(config, deps, { endpoints, sharesPort });
  if (publicServer !== null) url.listensOn(publicServer.port);
  const setup = () =>
    setupOf({ config, catalog: catalog.current(), actionCatalog: actionCatalog.actionCatalog, url: url.get() });
  const operator = operatorEndpoints({ config, catalog: catalog.current, upstream, setup });
  const adminServer =
    role?.kind === "child"
      ? null
      : await listenAdmin(config, deps, {
          stores,
          readiness: () => readyWithStores(readiness(), disk, stores),
          metricsText,
          failedCalls,
          operator: [...operator, jobsEndpoint(jobs)],
          unsold,
        });
  // The parent serves nobody, so it has no work of its own to go on with.
  if (role?.kind !== "parent") {
    await jobs.start();
    sessions.start();
    paidTimes.start();
  }

  async function closeParts(): Promise<void> {
    await jobs.stop();
    await sessions.stop();
    await paidTimes.stop();
    await composites.close();
    actionCatalog.close();
    await leases.stop();
    sharedRoutes.stop();
    await Promise.all([upstream.close(), counter.close(), catalog.close()]);
    stopTelling();
    await stores.close();
    await failedCalls.close();
    observer.flush();
  }

  return {
    url: url.get(),
    adminUrl: adminServer === null ? "" : listenerUrl(config.adminHost, adminServer.port),
    adminToken: callers.adminToken,
    sandboxUrl: catalog.sandboxUrl,
    async startWords() {
      const made = setup();
      return [...startWords(made), ...warningOf(lowDiskText(await disk())), ...nextWords(made)];
    },
    reload: () => catalog.reload(),
    ...createDrain({ config, phase, publicServer, adminServer, observer, closeParts }),
    metricsText: () => observer.metricsText(),
  };
}

function warningOf(sentence: string | null): readonly string[] {
  return sentence === null ? [] : [`Warning: ${sentence}.`];
}

/** No paid call can start on a disk that is nearly full, or without the shared store, however well the processes are. */
async function readyWithStores(
  state: Readiness,
  disk: () => Promise<DiskRoom>,
  { answers }: Pick<Stores, "answers">,
): Promise<Readiness> {
  if (!state.ready) return state;
  const isAway = answers !== null && !(await answers());
  const reason = isAway ? "the ledger's Redis does not answer" : lowDiskText(await disk());
  return reason === null ? state : { ...state, ready: false, reason };
}

function readinessOf({ draining }: Phase): Readiness {
  return draining ? { ready: false, reason: "draining" } : { ready: true };
}

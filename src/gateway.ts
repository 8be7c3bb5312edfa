// The composition root: config -> stores -> catalog -> upstream -> servers. Parts are wired here by hand, and nowhere else.
import { accountEndpoints } from "./accounts/account-endpoints.ts";
import { adminEndpoints, healthEndpoint, type Readiness } from "./accounts/admin-endpoints.ts";
import { adminCheck, ensureAdminToken } from "./accounts/admin-token.ts";
import { createAuthenticator } from "./accounts/authenticate.ts";
import { signupEndpoint } from "./accounts/signup.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { loadCatalog } from "./catalog/load.ts";
import type { LocalAction } from "./catalog/local-action.ts";
import { modelAnswer, modelsAnswer, pricingAnswer } from "./catalog/price-answers.ts";
import { checkRetirements } from "./catalog/retirement.ts";
import { chatEndpoints } from "./chat/chat-endpoints.ts";
import { createTokenCounter } from "./chat/token-counter.ts";
import { systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import { openFiles } from "./files/open-files.ts";
import { listen } from "./http/server.ts";
import type { JobKind } from "./jobs/job-kind.ts";
import { createJobs } from "./jobs/jobs.ts";
import { keepLeases } from "./ledger/sweep.ts";
import { addressWindowKey } from "./limits/address-window-key.ts";
import { createRequestWindows } from "./limits/request-windows.ts";
import { createLog, type LogOptions } from "./observe/log.ts";
import { createObserver } from "./observe/observer.ts";
import type { Endpoint, EndpointSpec } from "./plan.ts";
import { openActionCatalog } from "./run/action-catalog.ts";
import { KEPT_LEASE_MS } from "./run/action-plan.ts";
import { discoverAction } from "./run/discover.ts";
import { findEndpoints } from "./run/find-endpoints.ts";
import { openRun } from "./run/inner-calls.ts";
import { runEndpoints } from "./run/run-endpoints.ts";
import { searchIn } from "./run/search-index.ts";
import { vendorsOf } from "./sandbox/action-vendors.ts";
import { startSandbox } from "./sandbox/server.ts";
import { screen, tellAddress } from "./serve/admit.ts";
import type { ServeDeps } from "./serve/deps.ts";
import { refuseAtEdge } from "./serve/refuse-at-edge.ts";
import { serve } from "./serve/serve.ts";
import { LEASE_MS, openStores } from "./stores.ts";
import { createPublicFetch } from "./upstream/public-fetch.ts";
import { createUpstream } from "./upstream/upstream.ts";
import { webEndpoints } from "./web/web-endpoints.ts";
import { envelopeErrors } from "./wires/envelope/errors.ts";

/** A running gateway. */
export interface Gateway {
  readonly url: string;
  readonly adminUrl: string;
  readonly adminToken: string;
  /** The sandbox upstream of this process; null where there is none. */
  readonly sandboxUrl: string | null;
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
}

const ANY_ADDRESS = ["0.0.0.0", "::"];
const CHAT_ATTEMPTS_MAX = 6;
/** Whoever has not said for so long that it lives has died, and its jobs go to others. */
const RUNNER_LEASE_MS = 20_000;
const DRAIN_LOOK_MS = 20;
/** Connections that rest between two requests learn with the next one that they should go elsewhere. */
const RETIRE_MS_MIN = 1_000;
/** How long the calls that were cut off may take to be settled. */
const SETTLE_MS_MAX = 10_000;
const RECORDS_SWEPT_MAX = 1_000;

/** The catalog in force, and how to replace it. */
async function openCatalog(config: Config, sandboxOrigin: string | null) {
  const load = (): Promise<Catalog> =>
    loadCatalog({
      env: config.vendorEnv,
      clock: systemClock,
      sandboxOrigin,
      contact: config.contact,
      overlayDir: config.overlayDir,
      markupPercent: config.markupPercent,
      allowLoss: config.allowLoss,
    });
  let current = await load();
  let names = soldNames(current);
  let vendors = vendorsOf(current);
  return {
    current: () => current,
    names: () => names,
    vendors: () => vendors,
    async reload() {
      current = await load();
      names = soldNames(current);
      vendors = vendorsOf(current);
    },
  };
}

/** What may be a metric label: models and tiers by the names the catalog gives them, never those that callers make up. */
function soldNames(catalog: Catalog): ReadonlySet<string> {
  const live = { sandbox: false };
  const models = [...catalog.models(live), ...catalog.embeddings(live)].map(({ slug }) => slug);
  const actions = catalog.actions(live).map(({ id }) => id);
  return new Set([...models, ...actions, ...[...catalog.tiers.keys()].flatMap((id) => [id, `core/${id}`])]);
}

function chatSettings(config: Config) {
  return {
    firstTokenMsMax: config.firstTokenMsMax,
    firstTokenMsMaxByTier: config.firstTokenMsMaxByTier,
    lastFirstTokenMsMax: config.lastFirstTokenMsMax,
    gapMsMax: config.gapMsMax,
    wholeMsMax: config.wholeMsMax,
    attemptsMax: CHAT_ATTEMPTS_MAX,
    unaryMs: config.unaryMsMax,
    unaryMsPerToken: config.unaryMsPerToken,
  };
}

/** Endpoints of parts that know no wire. */
function inEnvelope(specs: readonly EndpointSpec[]): Endpoint[] {
  return specs.map((spec) => ({ ...spec, errors: envelopeErrors }));
}

/** How much of signing up there may be. */
function signupBounds(config: Config) {
  const windows = createRequestWindows({ clock: systemClock, windowSeconds: 3_600 });
  return {
    creditPerDay: config.signupCreditPerDay,
    takeAddress: (address: string) => windows.take(addressWindowKey(address), config.signupsPerAddressPerHour),
  };
}

function address(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Looks until `isQuiet`, for at most `msMax`. */
async function quiet(isQuiet: () => boolean, msMax: number): Promise<void> {
  const untilMs = systemClock.elapsedMs() + msMax;
  while (!isQuiet() && systemClock.elapsedMs() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, DRAIN_LOOK_MS));
  }
}

/** Starts a gateway. Rejects with a sentence for the operator where a port, a folder or a file is not as it must be. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, logStream, onFatal, role, actions: moreActions = [], jobKinds = [] } = options;
  const clock = systemClock;
  const log = createLog({ level: config.logLevel, clock, ...(logStream === undefined ? {} : { stream: logStream }) });
  const ownDir = role?.kind === "child" ? role.ownDir : config.dataDir;
  const stores = await openStores(
    { ...config, dataDir: ownDir },
    { onFatal, onBroken: (err) => log.logger.error({ err }, "the store is away"), archiveDir: config.dataDir },
  );
  const { ledger, records } = stores;
  const ownSandbox = config.sandbox && config.sandboxUrl === null;
  const standIn = { host: "127.0.0.1", port: 0, adapters: () => catalog.vendors() };
  const sandbox = ownSandbox ? await startSandbox(standIn) : null;
  const sandboxUrl = config.sandbox ? (config.sandboxUrl ?? sandbox?.url ?? null) : null;
  const catalog = await openCatalog(config, sandboxUrl);
  const upstream = createUpstream(clock);
  const counter = createTokenCounter();

  const isKnown = (name: string) => catalog.names().has(name) || localNames.has(name);
  const observer = createObserver({ clock, log, isKnown });
  observer.onScrape({
    // The books are common to all processes: one of them looks.
    ...(role?.kind === "child" ? {} : { totals: () => ledger.totals() }),
    restingRoutes: () => upstream.health.resting(),
    ...(stores.spool === null ? {} : { spool: stores.spool }),
    ...(stores.archiveBehindMs === null ? {} : { archiveBehindMs: stores.archiveBehindMs }),
  });

  const hears = () => stores.hearsChanges();
  const authenticator = createAuthenticator({ books: ledger, clock, sandbox: config.sandbox, hears });
  const forget = (accountId: string | null) => authenticator.forget(accountId);
  await stores.onKeysChanged(forget);
  const adminToken = config.adminToken ?? ensureAdminToken(config.dataDir);
  const windows = createRequestWindows({ clock });
  const owner = `gateway-${process.pid}-${Math.floor(clock.epochMs())}`;
  const leases = keepLeases({
    ledger,
    clock,
    owner,
    leaseMs: LEASE_MS,
    onBroken: (err) => log.logger.error({ err }, "leases"),
    alsoSweep: async () => (await records.sweep(RECORDS_SWEPT_MAX)) === RECORDS_SWEPT_MAX,
  });
  await leases.recover();
  // A call and its request are named by the same random characters.
  const onBroken = (err: unknown, id: string) =>
    log.logger.error({ err, request_id: id.replace(/^tx_/, "req_") }, "internal error");
  let draining = false;

  const jobs = createJobs({
    ledger,
    records,
    clock,
    kinds: jobKinds,
    self: owner,
    shared: stores.shared,
    runnerLeaseMs: RUNNER_LEASE_MS,
    holdLeaseMs: KEPT_LEASE_MS,
    innerCalls: (outer) => run.innerCalls(outer),
    onBroken,
  });
  const deps: ServeDeps = {
    clock,
    observer,
    ledger,
    records,
    leases,
    health: upstream.health,
    keeper: jobs.keeper,
    stranger: null,
    authenticate: (authorization) => authenticator.authenticate(authorization),
    isAdmin: adminCheck(adminToken),
    takeWindow: (kind, key, limit) => windows.take(`${kind} ${key}`, limit),
    peekWindow: (kind, key, limit) => windows.peek(`${kind} ${key}`, limit),
    addressRequestsPerMinute: config.addressRequestsPerMinute,
    countsPaidCalls: stores.shared,
    forget,
    owner,
    leaseMs: LEASE_MS,
    draining: () => draining,
    onBroken,
  };
  const chat = {
    catalog: catalog.current,
    upstream,
    counter,
    clock,
    settings: chatSettings(config),
  };
  const live = { sandbox: false };
  const { inferenceCapNano, requestsPerMinute, inFlightMax } = config;
  const opening = { books: ledger, clock, limits: { inferenceCapNano, requestsPerMinute, inFlightMax } };
  const publicFetch = createPublicFetch();
  const { files, ...filed } = await openFiles({
    config,
    records,
    clock,
    baseUrl: () => publicUrl(),
    openPublic: publicFetch.open,
    onBroken: (err) => log.logger.error({ err }, "files"),
  });
  const localActions: readonly LocalAction[] = [
    discoverAction((...asked) => search(...asked)),
    ...filed.actions,
    ...moreActions,
  ];
  const localNames = new Set(localActions.map(({ service, action }) => `${service}/${action}`));
  const actionCatalog = openActionCatalog(catalog.current, localActions);
  const search = searchIn({ actionCatalog, clock });
  const run = openRun({ actionCatalog, upstream, records, kernel: deps, keepBytes: files.keepBytes });
  const publicUrl = (): string => config.publicUrl ?? address(config.host, publicServer?.port ?? config.port);
  const publicEndpoints: readonly Endpoint[] = [
    ...runEndpoints(run),
    ...chatEndpoints(chat, {
      models: () => modelsAnswer(catalog.current(), live),
      model: (slug) => modelAnswer(catalog.current(), slug, live),
      pricing: () => pricingAnswer(catalog.current(), live),
    }),
    ...findEndpoints({ actionCatalog, clock }),
    ...webEndpoints({ actionCatalog, clock, catalog: catalog.current, publicUrl, payTo: null }),
    ...inEnvelope([
      ...filed.endpoints,
      ...accountEndpoints({ books: ledger, clock, forget }),
      ...(config.signup === "open" ? [signupEndpoint({ ...opening, counts: records, ...signupBounds(config) })] : []),
      healthEndpoint(),
    ]),
  ];
  checkRetirements(publicEndpoints);
  const edge = {
    clock,
    trustProxy: config.trustProxy,
    spillFolder: config.dataDir,
    screen: (request, endpoint) => screen(request, endpoint, deps),
    handle: (request, endpoint, reply) => serve(request, endpoint, reply, deps),
    refuse: (request, reply, error, errors) => refuseAtEdge(request, reply, error, { errors, deps }),
  } satisfies Partial<Parameters<typeof listen>[0]>;
  const listenPublic = () =>
    listen({
      ...edge,
      host: config.host,
      port: config.port,
      exclusive: role === undefined,
      endpoints: publicEndpoints,
      cors: { announce: (request, reply) => tellAddress(request, reply, deps) },
      allowedHosts: null,
    });
  const listenAdmin = () =>
    listen({
      ...edge,
      host: config.adminHost,
      port: config.adminPort,
      endpoints: inEnvelope(
        adminEndpoints({
          ...opening,
          forget,
          sandbox: config.sandbox,
          readiness: () => (draining ? { ready: false, reason: "draining" } : { ready: true }),
          metricsText,
          ...(role?.kind === "parent" ? { readiness: role.readiness, metricsText: role.metricsText } : {}),
          metricsContentType: observer.contentType,
          metricsOpen: ["127.0.0.1", "localhost", "::1"].includes(config.adminHost),
        }),
      ),
      cors: null,
      // Bound to every address, it cannot know the names it goes by.
      allowedHosts: ANY_ADDRESS.includes(config.adminHost) ? null : [],
    });
  const metricsText = () => observer.metricsText();
  const publicServer = role?.kind === "parent" ? null : await listenPublic();
  const adminServer = role?.kind === "child" ? null : await listenAdmin();
  // The parent serves nobody, so it has no work of its own to go on with.
  if (role?.kind !== "parent") await jobs.start();
  const answered = (): boolean => publicServer === null || publicServer.openRequests() === 0;

  async function leave(): Promise<void> {
    draining = true;
    publicServer?.stopAccepting();
    await quiet(answered, config.drainMs);
    publicServer?.close();
    adminServer?.close();
    // Whose connection has gone has been charged or released only when its request has ended.
    await quiet(() => observer.inFlight() === 0, SETTLE_MS_MAX);
    await jobs.stop();
    files.close();
    publicFetch.close();
    await leases.stop();
    await Promise.all([upstream.close(), counter.close(), sandbox?.close()]);
    await stores.close();
    observer.flush();
  }
  let left: Promise<void> | null = null;
  const drain = (): Promise<void> => {
    left ??= leave();
    return left;
  };

  return {
    url: publicUrl(),
    adminUrl: adminServer === null ? "" : address(config.adminHost, adminServer.port),
    adminToken,
    sandboxUrl,
    reload: () => catalog.reload(),
    drain,
    async retire() {
      publicServer?.handOver();
      await quiet(() => draining, RETIRE_MS_MIN);
      await quiet(() => draining || answered(), config.wholeMsMax);
      await drain();
    },
    metricsText,
  };
}

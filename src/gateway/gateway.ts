// The composition root: config -> stores -> catalog -> upstream -> servers. The parts in gateway/ are wired here by hand, each from those above it.

import { systemClock } from "../core/clock.ts";
import { inSlices } from "../core/slices.ts";
import type { Readiness } from "../money/accounts/admin-endpoints.ts";
import { adminProviderKeyEndpoints } from "../money/accounts/provider-key-endpoints.ts";
import { adminEventEndpoints } from "../money/events/event-endpoints.ts";
import { lowDiskText } from "../platform/storage/disk-guard.ts";
import { certificateEndpoints } from "./certificates.ts";
import { closedIfFailed, type Opened } from "./closed-if-failed.ts";
import { createDrain, type Phase } from "./drain.ts";
import { listenAdmin, listenPublic } from "./listeners.ts";
import { openAccountPages } from "./open-account-pages.ts";
import { type Foundation, openFoundation } from "./open-foundation.ts";
import { jobsEndpoint } from "./open-jobs.ts";
import { openMcp } from "./open-mcp.ts";
import { type ModelLists, openModelLists } from "./open-model-lists.ts";
import { openWork, type Work } from "./open-work.ts";
import { operatorEndpoints } from "./operator-endpoints.ts";
import type { GatewayOptions } from "./options.ts";
import { providerKeyParts } from "./provider-keys.ts";
import { publicEndpoints } from "./public-endpoints.ts";
import { listenerUrl } from "./public-url.ts";
import { explained, refusalsIn } from "./refused-key.ts";
import { requestLogEndpoints } from "./request-log-endpoints.ts";
import { type Setup, setupOf } from "./setup.ts";
import { type SharedLosses, shareLosses } from "./shared-losses.ts";
import { nextWords, startWords } from "./start-words.ts";
import { unsoldIn } from "./unsold.ts";

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
  /** The same where other processes share the port: no caller is turned away, and running answers have all the time they may take. */
  retire(): Promise<void>;
  /** Everything counted here, in Prometheus' text format. */
  metricsText(): Promise<string>;
}

/** Starts a gateway. Rejects with a sentence for the operator where a port, a folder or a file is not as it must be; then nothing of it is left open. */
export function startGateway(options: GatewayOptions): Promise<Gateway> {
  const internet = { proxies: options.config.proxies, ...options.internet };
  return closedIfFailed((opened) => openGateway({ ...options, internet }, opened));
}

async function openGateway(options: GatewayOptions, opened: Opened): Promise<Gateway> {
  const { config, role } = options;
  const phase: Phase = { draining: false };
  const foundation = await openFoundation(options);
  opened(foundation.close);
  const work = await openWork(foundation, options, phase);
  opened(work.close);
  const { catalog, observer, disk, upstream } = foundation;
  const { url, actionCatalog } = work;
  const lists = openModelLists(foundation, role);
  const losses = openSharedLosses(foundation);
  const setup = () =>
    inSlices(
      setupOf({ config, catalog: catalog.current(), actionCatalog: actionCatalog.actionCatalog, url: url.get() }),
    );
  opened(() => losses.stop());
  const doors = { options, phase, setup, lists, losses, opened };
  const { publicServer, adminServer } = await openDoors(foundation, work, doors);
  opened(() => lists.stop());
  // The parent serves no caller, so it has no work of its own to go on with.
  if (role?.kind !== "parent") await work.start();

  async function closeParts(): Promise<void> {
    await lists.stop();
    await work.close();
    // What the last calls have lost is told as well.
    await losses.stop();
    await foundation.close();
  }

  return {
    url: url.get(),
    adminUrl: adminServer === null ? "" : listenerUrl(config.adminHost, adminServer.port),
    adminToken: work.callers.adminToken,
    sandboxUrl: catalog.sandboxUrl,
    async startWords() {
      const made = await setup();
      const refused = refusalsIn(upstream.failures, catalog.current()).flatMap(({ message }) => warningOf(message));
      return [...refused, ...startWords(made), ...warningOf(lowDiskText(await disk())), ...nextWords(made)];
    },
    reload: () => lists.reload(),
    ...createDrain({ config, phase, publicServer, adminServer, observer, closeParts }),
    metricsText: () => observer.metricsText(),
  };
}

interface DoorParts {
  readonly options: GatewayOptions;
  readonly phase: Phase;
  readonly setup: () => Promise<Setup>;
  readonly lists: ModelLists;
  readonly losses: SharedLosses;
  readonly opened: Opened;
}

function openSharedLosses({ losses, stores, broken }: Foundation): SharedLosses {
  const { records, shared } = stores;
  const onBroken = (error: unknown) => broken(error, "losses were not told");
  return shareLosses({ losses, records, clock: systemClock, shared, onBroken });
}

/** Begins to listen: first for callers, then for the operator. A parent leaves the callers to its children that serve, and all leave the operator to it. */
async function openDoors(foundation: Foundation, work: Work, parts: DoorParts) {
  const { options, phase, setup, lists, losses, opened } = parts;
  const { config, catalog, upstream, observer, failedCalls } = foundation;
  const { role } = options;
  const { url, deps, jobs } = work;
  const unsold = unsoldIn({ catalog: catalog.current, actionCatalog: work.actionCatalog.actionCatalog });
  const endpoints = publicEndpoints({ ...foundation, ...work, unsold, wires: options.wires ?? [], publicUrl: url.get });
  const sharesPort = role !== undefined;
  const { records, others } = foundation.stores;
  const mcp = await openMcp(endpoints, { config, records, others, deps });
  const pages = config.pages ? openAccountPages(endpoints, work) : [];
  const served = { endpoints: [...endpoints, ...mcp, ...pages], sharesPort };
  const listens = role === undefined || (role.kind === "child" && role.serves);
  const publicServer = listens ? await listenPublic(config, deps, served) : null;
  opened(() => publicServer?.close());
  if (publicServer !== null) url.listensOn(publicServer.port);
  if (role?.kind === "child") return { publicServer, adminServer: null };
  // The parent speaks for all processes; any other one for itself.
  const own = { readiness: () => readinessOf(phase), metricsText: () => observer.metricsText() };
  const { readiness, metricsText } = role?.kind === "parent" ? role : own;
  const operator = operatorEndpoints({
    config,
    catalog: catalog.current,
    upstream,
    losses: foundation.losses,
    hearLosses: losses.exchange,
    setup,
  });
  const adminServer = await listenAdmin(config, deps, {
    stores: foundation.stores,
    adminToken: work.callers.adminToken,
    readiness: () => readyWithStores(readiness(), foundation),
    metricsText,
    failedCalls: explained(failedCalls, catalog.current),
    proofs: work.proofs,
    refusals: () => refusalsIn(upstream.failures, catalog.current()),
    log: foundation.log,
    openId: work.openId,
    operator: [
      ...operator,
      ...certificateEndpoints(catalog.current, foundation.stores.records),
      ...lists.endpoints,
      jobsEndpoint(jobs, foundation.stores.ledger),
      ...work.payments,
      ...adminEventEndpoints(work.events),
      ...requestLogEndpoints({ stores: foundation.stores, log: work.requestLog, forget: deps.forget }),
      ...adminProviderKeyEndpoints(providerKeyParts(foundation, work.callers)),
    ],
    unsold,
  });
  return { publicServer, adminServer };
}

function warningOf(sentence: string | null): readonly string[] {
  return sentence === null ? [] : [`Warning: ${sentence}.`];
}

/** No paid call can start on a disk that is nearly full, or without the shared store, however well the processes are. */
async function readyWithStores(
  state: Readiness,
  { disk, stores }: Pick<Foundation, "disk" | "stores">,
): Promise<Readiness> {
  if (!state.ready) return state;
  const { answers } = stores;
  const isAway = answers !== null && !(await answers());
  const reason = isAway ? "the ledger's Redis does not answer" : lowDiskText(await disk());
  return reason === null ? state : { ...state, ready: false, reason };
}

function readinessOf({ draining }: Phase): Readiness {
  return draining ? { ready: false, reason: "draining" } : { ready: true };
}

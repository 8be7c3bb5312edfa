// The composition root: config, stores, catalog, upstream, then servers. Each part is built from those before it.

import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import { inSlices } from "../core/slices.ts";
import { loadEngine } from "../edge/http/load-engine.ts";
import type { AnonymousAccess } from "../edge/serve/deps.ts";
import type { ModelWire } from "../models/formats/wire.ts";
import type { Readiness } from "../money/accounts/admin-endpoints.ts";
import type { Wallet } from "../money/wallet/wallet.ts";
import type { Config } from "../platform/config.ts";
import type { LogOptions } from "../platform/observe/log.ts";
import { lowDiskText } from "../platform/storage/disk-guard.ts";
import type { PublicFetchOptions } from "../upstream/public-fetch.ts";
import { createDrain, Opened, settled } from "./drain.ts";
import { openAdmin, openCertificate, openPublic } from "./listeners.ts";
import { openReload } from "./open-catalog.ts";
import { type Foundation, listenerUrl, openFoundation } from "./open-foundation.ts";
import { openWork } from "./open-work.ts";
import { refusalsIn } from "./refused-key.ts";
import { setupOf } from "./setup.ts";
import { nextWords, startWords } from "./start-words.ts";

/** The role of one of several processes: the parent watches and administers, its children serve callers. */
type Role =
  | { readonly kind: "parent"; readonly readiness: () => Readiness; readonly metricsText: () => Promise<string> }
  | {
      readonly kind: "child";
      readonly serves: boolean;
      /** The folder for data of this process alone. */
      readonly ownDir: string;
    };

export interface GatewayOptions {
  readonly config: Config;
  /** Where log lines go instead of standard output. */
  readonly logStream?: LogOptions["stream"];
  /** The store is broken beyond recovery: the process should exit. */
  readonly onFatal: (error: Error) => void;
  /** Absent where this is the only process. */
  readonly role?: Role;
  /** Actions and kinds of jobs besides our own. */
  readonly actions?: readonly LocalAction[];
  readonly jobKinds?: readonly JobKind[];
  readonly wires?: readonly ModelWire[];
  /** How tests reach the internet's pages. */
  readonly internet?: PublicFetchOptions;
  /** The process that signs payments to merchants. Absent: none are paid. The caller must close it. */
  readonly wallet?: Wallet;
  /** How callers without a key pay. Absent: a key is required. */
  readonly anonymousPayer?: AnonymousAccess;
}

export type Gateway = Awaited<ReturnType<typeof openGateway>>;

/** Rejects with a sentence for the operator where a port, a folder or a file is wrong, after closing everything it opened. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const opened = new Opened();
  try {
    const internet = { proxies: options.config.proxies, ...options.internet };
    return await openGateway({ ...options, internet }, opened);
  } catch (error) {
    // The operator needs the reason why the gateway could not start, not what failed to close afterwards.
    await opened.close().catch(() => {});
    throw error;
  }
}

async function openGateway(options: GatewayOptions, opened: Opened) {
  const { config, role } = options;
  const foundation = await openFoundation(options, opened);
  const work = await openWork(foundation);
  const { catalog, observer, disk, upstream, url } = foundation;
  const { actionCatalog } = work.actionCatalog;
  const reload = openReload(foundation);
  const setup = () => inSlices(setupOf(config, catalog.current(), actionCatalog, url.get()));
  opened.add(() => settled(foundation));
  const engine = await loadEngine(config.httpEngine, (line) => foundation.log.logger.warn(line));
  const certificate = openCertificate(foundation);
  const publicServer = await openPublic(foundation, work, engine, certificate.current());
  // The parent reports for all processes; any other process reports for itself.
  const ownReadiness = (): Readiness =>
    foundation.phase.draining ? { ready: false, reason: "draining" } : { ready: true };
  const own = { readiness: ownReadiness, metricsText: () => observer.metricsText() };
  const { readiness, metricsText } = role?.kind === "parent" ? role : own;
  const shown = { readiness: () => readyWithStores(readiness(), foundation), metricsText, setup };
  const adminServer = role?.kind === "child" ? null : await openAdmin(foundation, work, engine, shown);
  // The parent serves no callers, so it has no background work.
  if (role?.kind !== "parent") await work.start();
  return {
    url: url.get(),
    adminUrl: adminServer === null ? "" : listenerUrl(config.adminHost, adminServer.port),
    adminToken: work.callers.adminToken,
    sandboxUrl: catalog.sandboxUrl,
    async startWords(): Promise<readonly string[]> {
      const made = await setup();
      const refused = refusalsIn(upstream.failures, catalog.current()).flatMap(({ message }) => warningOf(message));
      return [...refused, ...startWords(made), ...warningOf(lowDiskText(await disk())), ...nextWords(made)];
    },
    /** Reloads adapters, tiers, the overlay and the TLS certificate. On an error the old ones stay in force. */
    async reload() {
      await certificate.reload(publicServer);
      await reload();
    },
    ...createDrain(foundation, publicServer),
    metricsText: () => observer.metricsText(),
  };
}

function warningOf(sentence: string | null): readonly string[] {
  return sentence === null ? [] : [`Warning: ${sentence}.`];
}

/** Not ready without the shared store or with a nearly full disk: no paid call can start then. */
async function readyWithStores(state: Readiness, { disk, stores }: Foundation): Promise<Readiness> {
  if (!state.ready) return state;
  const { answers } = stores;
  const isAway = answers !== null && !(await answers());
  const reason = isAway ? "the ledger's Redis does not answer" : lowDiskText(await disk());
  return reason === null ? state : { ...state, ready: false, reason };
}

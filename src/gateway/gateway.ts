// The composition root: config, stores, catalog, upstream, then servers. Each part is built from those before it.
import { inSlices } from "../core/slices.ts";
import { loadEngine } from "../edge/http/load-engine.ts";
import type { Readiness } from "../money/accounts/admin-endpoints.ts";
import { lowDiskText } from "../platform/storage/disk-guard.ts";
import { createDrain, settled } from "./drain.ts";
import { openAdmin, openPublic } from "./listeners.ts";
import { openReload } from "./open-catalog.ts";
import { openCertificate } from "./open-certificate.ts";
import { type Foundation, openFoundation } from "./open-foundation.ts";
import { openWork } from "./open-work.ts";
import { Opened } from "./opened.ts";
import type { GatewayOptions } from "./options.ts";
import { listenerUrl } from "./public-url.ts";
import { refusalsIn } from "./refused-key.ts";
import { setupOf } from "./setup.ts";
import { nextWords, startWords } from "./start-words.ts";
import { unsoldIn } from "./unsold.ts";

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
  const unsold = unsoldIn(catalog.current, actionCatalog);
  opened.add(() => settled(foundation));
  const engine = await loadEngine(config.httpEngine, (line) => foundation.log.logger.warn(line));
  const certificate = openCertificate(foundation);
  const publicServer = await openPublic(foundation, work, { engine, unsold, certificate: certificate.current() });
  // The parent reports for all processes; any other process reports for itself.
  const own = { readiness: () => readinessOf(foundation), metricsText: () => observer.metricsText() };
  const { readiness, metricsText } = role?.kind === "parent" ? role : own;
  const adminServer =
    role?.kind === "child"
      ? null
      : await openAdmin(foundation, work, {
          engine,
          readiness: () => readyWithStores(readiness(), foundation),
          metricsText,
          setup,
          unsold,
        });
  // The parent serves no callers, so it has no background work.
  if (role?.kind !== "parent") await work.start();
  return {
    url: url.get(),
    adminUrl: adminServer === null ? "" : listenerUrl(config.adminHost, adminServer.port),
    adminToken: work.callers.adminToken,
    /** The sandbox upstream of this process; null: none. */
    sandboxUrl: catalog.sandboxUrl,
    /** The lines printed for the operator at the start. */
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
    /** All metrics of this process, in Prometheus' text format. */
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

function readinessOf({ phase }: Foundation): Readiness {
  return phase.draining ? { ready: false, reason: "draining" } : { ready: true };
}

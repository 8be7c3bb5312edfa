// What every part of a gateway stands on: the log, the stores, the catalog, the way to vendors, and what is seen of calls.
import { join } from "node:path";
import { createTokenCounter, type TokenCounters } from "../chat/token-counter.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { signingSecrets } from "../files/signed-links.ts";
import { createRequestWindows } from "../limits/request-windows.ts";
import { type FailedCallFile, openFailedCalls } from "../observe/failed-calls.ts";
import { createLog, type Log, type LogOptions } from "../observe/log.ts";
import type { Observer } from "../observe/observer.ts";
import { type DiskRoom, diskBounds, diskRoom } from "../storage/disk-guard.ts";
import { openStores, type Stores } from "../stores.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { createUpstream, type Upstream } from "../upstream/upstream.ts";
import { type OpenCatalog, openCatalog } from "./open-catalog.ts";
import { openObserver } from "./open-observer.ts";
import { type OpenWallet, openWallets } from "./open-wallet.ts";
import type { GatewayOptions } from "./options.ts";
import { logRefusedKeys } from "./refused-key.ts";
import { storeOutage, type TellBroken } from "./store-outage.ts";
import { tellUnpriced } from "./unpriced-usage.ts";

export interface Foundation {
  readonly config: Config;
  readonly log: Log;
  /** Logs what is broken, unless it is one more of what an outage breaks. */
  readonly broken: TellBroken;
  readonly stores: Stores;
  readonly catalog: OpenCatalog;
  readonly upstream: Upstream;
  readonly counter: TokenCounters;
  readonly observer: Observer;
  readonly failedCalls: FailedCallFile;
  readonly disk: () => Promise<DiskRoom>;
  readonly wallets: OpenWallet;
  /** The names of our own actions, which metrics may tell as they tell the catalog's. They are put here when the actions are opened. */
  readonly localNames: Set<string>;
  close(): Promise<void>;
}

/** Rejects where a store cannot be opened, or a file of the catalog is not as it must be. */
export async function openFoundation({
  config,
  logStream,
  onFatal,
  role,
  wallet,
}: GatewayOptions): Promise<Foundation> {
  const clock = systemClock;
  const log = openLog(config, logStream);
  let stores: Stores | null = null;
  const { broken, stop: stopTelling } = storeOutage({ log, clock, answers: () => stores?.answers ?? null });
  const ownDir = role?.kind === "child" ? role.ownDir : config.dataDir;
  const onBroken = (error: unknown) => broken(error, "the store failed");
  stores = await openStores({ ...config, dataDir: ownDir }, { onFatal, onBroken, archiveDir: config.dataDir });
  const catalog = await openCatalog(config);
  const failedCalls = openFailedCalls({
    file: join(config.dataDir, "failed-calls.log"),
    clock,
    onBroken: (err) => log.logger.warn({ err }, "failed calls could not be noted"),
  });
  const disk = () => diskRoom(ownDir, diskBounds(config.diskFreeMibMin));
  const localNames = new Set<string>();
  const observer = openObserver({
    log,
    isKnown: (name) => catalog.names().has(name) || localNames.has(name),
    otelName: (id) => catalog.current().adapters({ sandbox: true }).get(id)?.spec.otelName ?? id,
    stores,
    looksAtBooks: role?.kind !== "child",
    disk,
    failedCalls,
    broken,
  });
  const windows = createRequestWindows({ clock });
  const paying = { config, stores, observer, ...(wallet === undefined ? {} : { wallet }) };
  const wallets = await openWallets({ ...paying, onBroken: (error) => broken(error, "payments to merchants") });
  const upstream = createUpstream(
    clock,
    logRefusedKeys(log),
    createPublicFetch(),
    windows,
    tellUnpriced(log, observer),
    wallets.purseFor,
  );
  observer.onScrape({ restingRoutes: () => upstream.health.resting() });
  const counter = createTokenCounter(signingSecrets(config.signingSecret, config.dataDir));
  const opened = {
    config,
    log,
    broken,
    stores,
    catalog,
    upstream,
    counter,
    observer,
    failedCalls,
    disk,
    localNames,
    wallets,
  };
  return { ...opened, close: () => closeFoundation(opened, stopTelling) };
}

function openLog({ logLevel: level, logFormat: format }: Config, stream: LogOptions["stream"]): Log {
  return createLog({ level, format, clock: systemClock, ...(stream === undefined ? {} : { stream }) });
}

async function closeFoundation(opened: Omit<Foundation, "close">, stopTelling: () => void): Promise<void> {
  const { stores, catalog, upstream, counter, observer, failedCalls } = opened;
  await Promise.all([upstream.close(), counter.close(), catalog.close()]);
  stopTelling();
  await stores.close();
  await failedCalls.close();
  observer.flush();
}

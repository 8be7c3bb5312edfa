// What every part of a gateway stands on: the log, the stores, the catalog, the way to vendors, and what is seen of calls.

import { join } from "node:path";
import { signingSecrets } from "../actions/files/signed-links.ts";
import { systemClock } from "../core/clock.ts";
import { createTokenCounter, type TokenCounters } from "../models/chat/token-counter.ts";
import { DIALECTS } from "../models/formats/vendor-dialects.ts";
import type { Config } from "../platform/config.ts";
import { createRequestWindows } from "../platform/limits/request-windows.ts";
import { type FailedCallFile, openFailedCalls } from "../platform/observe/failed-calls.ts";
import { createLog, type Log, type LogOptions } from "../platform/observe/log.ts";
import type { Observer } from "../platform/observe/observer.ts";
import { createRedactor } from "../platform/observe/redactor.ts";
import { SpanContents } from "../platform/observe/span-content.ts";
import { isSent } from "../platform/observe/trace-context.ts";
import type { Traces } from "../platform/observe/traces.ts";
import { type DiskRoom, diskBounds, diskRoom } from "../platform/storage/disk-guard.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { newAgent } from "../upstream/tunnel.ts";
import { createUpstream, type Upstream } from "../upstream/upstream.ts";
import { closedIfFailed, type Opened } from "./closed-if-failed.ts";
import { Losses } from "./losses.ts";
import { type OpenCatalog, openCatalog } from "./open-catalog.ts";
import { openObserver } from "./open-observer.ts";
import { type OpenWallet, openWallets } from "./open-wallet.ts";
import type { GatewayOptions } from "./options.ts";
import { logRefusedKeys } from "./refused-key.ts";
import { storeOutage, type TellBroken } from "./store-outage.ts";
import { openStores, type Stores } from "./stores.ts";
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
  readonly losses: Losses;
  readonly failedCalls: FailedCallFile;
  /** Null: no collector takes traces. */
  readonly traces: Traces | null;
  /** What spans tell of what is asked and answered; null: nothing. */
  readonly spanContents: SpanContents | null;
  readonly disk: () => Promise<DiskRoom>;
  readonly wallets: OpenWallet;
  /** The names of our own actions, which metrics may tell as they tell the catalog's. They are put here when the actions are opened. */
  readonly localNames: Set<string>;
  close(): Promise<void>;
}

/** Rejects where a store cannot be opened, or a file of the catalog is not as it must be; then nothing of it is left open. */
export function openFoundation(options: GatewayOptions): Promise<Foundation> {
  return closedIfFailed((opened) => foundationOf(options, opened));
}

async function foundationOf(options: GatewayOptions, opened: Opened): Promise<Foundation> {
  const { config, logStream, onFatal, role, wallet, internet } = options;
  const clock = systemClock;
  const log = openLog(config, logStream);
  let stores: Stores | null = null;
  const { broken, stop: stopTelling } = storeOutage({ log, clock, answers: () => stores?.answers ?? null });
  opened(stopTelling);
  const ownDir = ownFolder(options);
  const onBroken = (error: unknown) => broken(error, "the store failed");
  const events = { onFatal, onBroken, archiveDir: config.dataDir, ...(role && { part: role.kind }) };
  const read = await openBesideStores(options, openStores({ ...config, dataDir: ownDir }, events));
  stores = read.stores;
  opened(stores.close);
  const { catalog } = read;
  opened(catalog.close);
  const failedCalls = openFailedCalls({
    file: join(config.dataDir, "failed-calls.log"),
    clock,
    onBroken: (err) => log.logger.warn({ err }, "failed calls could not be noted"),
  });
  const disk = () => diskRoom(ownDir, diskBounds(config.diskFreeMibMin));
  const localNames = new Set<string>();
  const otelName = (id: string) => catalog.current().adapters({ sandbox: true }).get(id)?.spec.otelName ?? id;
  const spanContents = openSpanContents(config, broken);
  const traces = await openTracesOf(config, otelName, spanContents);
  const losses = new Losses({
    clock,
    log,
    allowLoss: config.allowLoss,
    serves: role?.kind !== "parent",
    catalog: catalog.current,
    lost: (provider, model, lostNano) => observer.lost(provider, model, lostNano),
    rest: (route) => upstream.health.putBehind(route),
  });
  const observer = openObserver({
    config,
    log,
    isKnown: (name) => catalog.names().has(name) || localNames.has(name),
    otelName,
    stores,
    looksAtBooks: role?.kind !== "child",
    disk,
    failedCalls,
    traces,
    onEnd: (record) => losses.note(record),
    broken,
  });
  const windows = createRequestWindows({ clock });
  const wallets = await openWallets({ config, stores, observer, wallet, broken });
  const upstream = createUpstream(clock, {
    dialects: DIALECTS,
    onRefusedKey: logRefusedKeys(log),
    publicFetch: createPublicFetch(internet),
    unpaidLinks: windows,
    onUnpriced: tellUnpriced(log, observer, losses),
    purseFor: wallets.purseFor,
    http2: config.vendorsHttp2,
    proxies: config.proxies,
  });
  opened(upstream.close);
  observer.onScrape({ restingRoutes: () => upstream.health.resting() });
  const counter = createTokenCounter(signingSecrets(config.signingSecret, config.dataDir));
  const seen = { observer, losses, failedCalls, traces, spanContents };
  const all = { config, log, broken, stores, catalog, upstream, counter, ...seen, disk, localNames, wallets };
  return { ...all, close: () => closeFoundation(all, stopTelling) };
}

/** What this process alone keeps lies here. Over a file there is no such thing: the folder is common to all. */
function ownFolder({ config, role }: GatewayOptions): string {
  return role?.kind === "child" && config.redisUrl !== null ? role.ownDir : config.dataDir;
}

/** A thread opens the stores, so the catalog is read meanwhile. If both fail, the error of the stores is reported. */
async function openBesideStores({ config }: GatewayOptions, opening: Promise<Stores>) {
  const [opened, loaded] = await Promise.allSettled([opening, openCatalog(config)]);
  if (opened.status === "rejected") {
    if (loaded.status === "fulfilled") await loaded.value.close();
    throw opened.reason;
  }
  const stores = opened.value;
  if (loaded.status === "rejected") {
    await stores.close();
    throw loaded.reason;
  }
  return { stores, catalog: loaded.value };
}

/** The kit is read only where a collector is set: a start without one does not wait for it. */
async function openTracesOf(
  config: Config,
  otelName: (provider: string) => string,
  contents: SpanContents | null,
): Promise<Traces | null> {
  const { otelUrl, otelHeaders: headers, otelServiceName: serviceName } = config;
  const { otelRatio: ratio, otelDelayMs: delayMs } = config;
  if (otelUrl === null) return null;
  const { openTraces } = await import("../platform/observe/traces.ts");
  const agent = (isSecure: boolean) => newAgent(config.proxies, isSecure);
  const settings = { url: `${otelUrl}/v1/traces`, agent, headers, serviceName, ratio, delayMs };
  return openTraces({ settings, clock: systemClock, otelName, contents });
}

function openSpanContents(config: Config, broken: TellBroken): SpanContents | null {
  const { otelUrl, otelCaptureContent, otelRatio } = config;
  if (otelUrl === null || !otelCaptureContent) return null;
  return new SpanContents({
    redact: createRedactor(config.requestLogRedact),
    isSent: (record) => isSent(record, otelRatio),
    onBroken: (error) => broken(error, "a span could not tell what was asked"),
  });
}

function openLog({ logLevel: level, logFormat: format }: Config, stream: LogOptions["stream"]): Log {
  return createLog({ level, format, clock: systemClock, ...(stream === undefined ? {} : { stream }) });
}

async function closeFoundation(opened: Omit<Foundation, "close">, stopTelling: () => void): Promise<void> {
  const { stores, catalog, upstream, counter, observer, failedCalls, traces } = opened;
  await Promise.all([upstream.close(), counter.close(), catalog.close()]);
  stopTelling();
  await stores.close();
  await Promise.all([failedCalls.close(), traces?.close()]);
  observer.flush();
}

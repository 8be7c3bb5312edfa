// What every part of a gateway needs: the log, the stores, the catalog, the connection to vendors, and observability of calls.

import { join } from "node:path";
import { signingSecrets } from "../actions/files/signed-links.ts";
import { systemClock } from "../core/clock.ts";
import { createTokenCounter } from "../models/chat/token-counter.ts";
import { DIALECTS } from "../models/formats/vendor-dialects.ts";
import type { Config } from "../platform/config.ts";
import { createRequestWindows } from "../platform/limits/request-windows.ts";
import { openFailedCalls } from "../platform/observe/failed-calls.ts";
import { openFigures } from "../platform/observe/figures.ts";
import { logInternalErrors } from "../platform/observe/internal-error.ts";
import { createLog } from "../platform/observe/log.ts";
import { showTotals } from "../platform/observe/metrics.ts";
import { createObserver, type Observer } from "../platform/observe/observer.ts";
import { createRedactor } from "../platform/observe/redactor.ts";
import { SpanContents } from "../platform/observe/span-content.ts";
import { isSent } from "../platform/observe/trace-context.ts";
import type { Traces } from "../platform/observe/traces.ts";
import { diskBounds, diskRoom } from "../platform/storage/disk-guard.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { newAgent } from "../upstream/tunnel.ts";
import { createUpstream, type Upstream } from "../upstream/upstream.ts";
import type { Opened, Phase } from "./drain.ts";
import type { GatewayOptions } from "./gateway.ts";
import { Losses } from "./losses.ts";
import { openCatalog } from "./open-catalog.ts";
import { openWallets } from "./open-money.ts";
import { logRefusedKeys } from "./refused-key.ts";
import { storeOutage, type TellBroken } from "./store-outage.ts";
import { openStores, type Stores } from "./stores.ts";

export type Foundation = Awaited<ReturnType<typeof openFoundation>>;

/** Rejects where a store cannot be opened or a file of the catalog is wrong. */
export async function openFoundation(options: GatewayOptions, opened: Opened) {
  const ground = await openGround(options, opened);
  const { config, log } = ground;
  const losses: Losses = new Losses(ground, () => ({ observer, upstream }));
  const observer: Observer = openObserver(ground, losses);
  const wallets = await openWallets(ground, observer);
  const upstream: Upstream = createUpstream(systemClock, {
    dialects: DIALECTS,
    onRefusedKey: logRefusedKeys(log),
    publicFetch: createPublicFetch(options.internet),
    unpaidLinks: createRequestWindows({ clock: systemClock }),
    onUnpriced: losses.noteUnpriced,
    merchantPayerFor: wallets.merchantPayerFor,
    http2: config.vendorsHttp2,
    proxies: config.proxies,
  });
  opened.add(upstream.close);
  observer.onScrape(({ resting }) => {
    resting.reset();
    for (const { provider, model } of upstream.health.resting()) resting.set({ provider, model }, 1);
  });
  const counter = createTokenCounter(signingSecrets(config.signingSecret, config.dataDir));
  opened.add(counter.close);
  losses.start();
  opened.add(() => losses.stop());
  return { ...ground, upstream, counter, observer, losses, wallets };
}

export type Ground = Awaited<ReturnType<typeof openGround>>;

/** The log, the stores and the catalog. A worker thread opens the stores, so the catalog is read meanwhile. */
async function openGround(options: GatewayOptions, opened: Opened) {
  const { config, logStream, onFatal, role } = options;
  const clock = systemClock;
  const stream = logStream === undefined ? {} : { stream: logStream };
  const log = createLog({ level: config.logLevel, format: config.logFormat, clock, ...stream });
  opened.add(() => log.flush());
  const failedCalls = openFailedCalls({
    file: join(config.dataDir, "failed-calls.log"),
    clock,
    onBroken: (err) => log.logger.warn({ err }, "failed calls could not be noted"),
  });
  opened.add(failedCalls.close);
  let stores: Stores | null = null;
  const { broken, stop: stopTelling } = storeOutage(log, clock, () => stores?.answers ?? null);
  const spanContents = openSpanContents(config, broken);
  const otelName = (id: string) => catalog.current().adapters({ sandbox: true }).get(id)?.spec.otelName ?? id;
  const traces = await openTracesOf(config, otelName, spanContents);
  opened.add(() => traces?.close());
  // This process's own folder. Processes that share a file share its folder too.
  const ownDir = role?.kind === "child" && config.redisUrl !== null ? role.ownDir : config.dataDir;
  const onBroken = (error: unknown) => broken(error, "the store failed");
  const events = { onFatal, onBroken, archiveDir: config.dataDir, ...(role === undefined ? {} : { part: role.kind }) };
  const opening = openStores({ ...config, dataDir: ownDir }, events).then((openedStores) => {
    stores = openedStores;
    opened.add(openedStores.close);
    opened.add(stopTelling);
    return openedStores;
  });
  const loading = openCatalog(config);
  await Promise.allSettled([opening, loading.then(({ close }) => opened.add(close))]);
  // If both fail, report the stores.
  const { records } = await opening;
  const catalog = await loading;
  const figures = openFigures(records, clock, (error) => broken(error, "the day's figures were not stored"));
  opened.add(figures.close);
  return {
    options,
    config,
    phase: { draining: false } as Phase,
    url: createPublicUrl(config),
    opened,
    log,
    /** Logs an error, unless an outage of the store caused it. */
    broken,
    onBroken: logInternalErrors(broken),
    stores: await opening,
    catalog,
    failedCalls,
    figures,
    traces,
    otelName,
    /** What spans record of requests and answers; null: nothing. */
    spanContents,
    disk: () => diskRoom(ownDir, diskBounds(config.diskFreeMibMin)),
    /** The names of our own actions, which may be metric labels. Filled when the actions are opened. */
    localNames: new Set<string>(),
  };
}

function openObserver(ground: Ground, losses: Losses): Observer {
  const { options, config, log, broken, stores, catalog, failedCalls, figures, traces, otelName } = ground;
  const { disk, localNames } = ground;
  const { ledger, spool, archiveBehindMs } = stores;
  const observer = createObserver({
    clock: systemClock,
    log,
    isKnown: (name) => catalog.names().has(name) || localNames.has(name),
    otelName,
    role: config.role,
    onUnread: (error) => broken(error, "gauges not read"),
    onEnd(record) {
      failedCalls.note(record);
      figures.note(record);
      losses.note(record);
      traces?.request(record);
    },
    ...(traces === null ? {} : { onJobEnd: traces.job }),
  });
  // All processes share the books, so only one of them exports their totals.
  if (options.role?.kind !== "child") observer.onScrape(async (gauges) => showTotals(gauges, await ledger.totals()));
  observer.onScrape(async ({ diskFree, diskNeeded, spoolDepth, spoolOldest, archiveBehind }) => {
    const waiting = spool?.();
    spoolDepth.set(waiting?.depth ?? 0);
    spoolOldest.set((waiting?.oldestMs ?? 0) / 1000);
    archiveBehind.set((archiveBehindMs?.() ?? 0) / 1000);
    const { freeBytes, freeBytesMin } = await disk();
    diskFree.set(freeBytes);
    diskNeeded.set(freeBytesMin);
  });
  return observer;
}

/** Loads OpenTelemetry only where a collector is configured. */
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
    onBroken: (error) => broken(error, "a span could not include the content of a call"),
  });
}

export function listenerUrl(host: string, port: number, scheme: "http" | "https" = "http"): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function createPublicUrl({ publicUrl, host, port: wanted, tlsCert }: Config) {
  let port = wanted;
  return {
    /** Without a trailing slash. */
    get: () => publicUrl ?? listenerUrl(host, port, tlsCert === null ? "http" : "https"),
    /** Sets the actual port, which is known only after the endpoints are created. */
    listensOn(had: number) {
      port = had;
    },
  };
}

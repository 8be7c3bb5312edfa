// Ledgers behind a spool on a real Redis, over a proxy that can fail: what a process has open, and what others see meanwhile.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { type Clock, systemClock } from "../../../../src/core/clock.ts";
import type { Archive } from "../../../../src/money/ledger/archive/archive.ts";
import type { Ledger, SharedLedger } from "../../../../src/money/ledger/model/ledger.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import { keptUntilCopied } from "../../../../src/money/ledger/spool/copies.ts";
import { openSpool, type Spool, type SpoolOptions } from "../../../../src/money/ledger/spool/file.ts";
import {
  type SpooledLedger,
  type SpooledLedgerOptions,
  spooledLedger,
} from "../../../../src/money/ledger/spool/ledger.ts";
import { openRedis, type RedisLink } from "../../../../src/platform/storage/redis-link.ts";
import { eventually } from "../../../support/gateway.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { openLink, type RedisServer, type RedisSettings, startRedis } from "../../../support/redis.ts";
import { removeFolder } from "../../../support/remove-folder.ts";
import { startTcpProxy, type TcpProxy } from "../../../support/tcp-proxy.ts";
import { CENT, holdRequest, newAccount, postRequest } from "../requests.ts";
import { NO_BOUNDS } from "../store.ts";

export const LEASE_MS = 2_000;
export const CREDIT_CENTS = 10_000;

type Forfeit = Parameters<SpooledLedgerOptions["onForfeit"]>[0];

/** A process's own part: its connection, its spool, and the ledger over both. */
export interface OpenLedger {
  readonly ledger: SpooledLedger;
  readonly link: RedisLink;
  readonly forfeits: readonly Forfeit[];
  readonly broken: readonly unknown[];
  close(): Promise<void>;
}

export interface OpenOptions extends Partial<Pick<SpoolOptions, "disk" | "openMax">> {
  readonly leaseMs?: number;
  /** Default: production's own timeout. */
  readonly commandMsMax?: number;
  /** Replaces the system's clock and the server's own. */
  readonly clock?: Clock;
  /** The spool's own clock, where it differs. */
  readonly spoolClock?: Clock;
  /** The archive for the store's postings. */
  readonly archive?: Archive;
  /** Wraps the store for the spool. */
  readonly wrap?: (store: SharedLedger) => SharedLedger;
  /** Wraps the spool. */
  readonly wrapSpool?: (spool: Spool) => Spool;
}

/** Opens the ledger as a gateway does, and replays the folder's spool. */
export async function openSpooled(url: string, folder: string, options: OpenOptions = {}): Promise<OpenLedger> {
  const { leaseMs = LEASE_MS, clock = systemClock, spoolClock = clock, archive, commandMsMax, ...others } = options;
  const { wrap = (store) => store, wrapSpool = (spool) => spool, ...bounds } = others;
  const forfeits: Forfeit[] = [];
  const broken: unknown[] = [];
  const onBroken = (error: unknown) => broken.push(error);
  const link = await openRedis(url, { onBroken: () => {}, ...(commandMsMax === undefined ? {} : { commandMsMax }) });
  const file = await openSpool({
    ...{ file: join(folder, "spool.db"), clock: spoolClock, disk: NO_BOUNDS, ...bounds },
    onFatal: onBroken,
  });
  const spool = wrapSpool(keptUntilCopied(file, link));
  const clocks = { clock, clockIsServers: clock !== systemClock };
  const store = wrap(redisLedger({ link, ...clocks, leaseMs, ...(archive === undefined ? {} : { archive }) }));
  const onForfeit = (lost: Forfeit) => forfeits.push(lost);
  const ledger = spooledLedger(store, spool, { clock, leaseMs, onBroken, onForfeit });
  link.onServerChange(() => ledger.repeat());
  await ledger.recover();
  async function close(): Promise<void> {
    await ledger.close();
    await link.close();
  }
  return { ledger, link, forfeits, broken, close };
}

export interface SpooledTest extends OpenLedger {
  readonly redis: RedisServer;
  readonly proxy: TcpProxy;
  readonly folder: string;
  /** The store as another process sees it, over an undisturbed connection. */
  readonly other: SharedLedger;
  /** Opens the ledger again on the same folder, as after a restart. */
  reopen(options?: OpenOptions): Promise<OpenLedger>;
  /** Places a hold of `cents` on the account. */
  hold(holdId: string, cents: number): ReturnType<Ledger["reserve"]>;
  /** Resolves once the spool is empty and the other process sees its calls. */
  told(): Promise<void>;
}

/** A server, a proxy in front of it, a ledger behind a spool, and the account `ada`. All of it ends with the test. */
export async function startSpooled(settings: RedisSettings = {}, options: OpenOptions = {}): Promise<SpooledTest> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-spool-"));
  const redis = await startRedis(settings);
  const proxy = await startTcpProxy(redis.port);
  const url = `redis://127.0.0.1:${proxy.port}`;
  let opened = await openSpooled(url, folder, options);
  const side = await openLink(redis.url);
  const { clock = systemClock } = options;
  const clocks = { clock, clockIsServers: clock !== systemClock };
  const other = redisLedger({ link: side, ...clocks, leaseMs: LEASE_MS });
  await other.openAccount(newAccount("ada", CREDIT_CENTS));
  onTestFinished(async () => {
    await opened.close();
    await side.close();
    await proxy.close();
    await redis.dispose();
    removeFolder(folder);
  });
  return {
    ...opened,
    ...{ redis, proxy, folder, other },
    async reopen(anew = {}) {
      await opened.close();
      opened = await openSpooled(url, folder, anew);
      return opened;
    },
    hold: (holdId, cents) => opened.ledger.reserve(request(holdId, cents)),
    async told() {
      await allTold(opened.ledger);
      await eventually(() => other.account("ada").catch(() => undefined), "the other process to reach the server");
    },
  };
}

/** With a replica that can be cut off, and then take over without the latest writes. */
export async function startWithReplica(options: OpenOptions = {}) {
  const parts = await startSpooled({}, options);
  const replica = await startRedis({ replicaof: `127.0.0.1 ${parts.redis.port}` });
  onTestFinished(() => replica.dispose());
  const follows = async () => {
    const info = String(await parts.redis.send("INFO", "replication"));
    return /slave0:.*state=online/.test(info) && Number(await parts.redis.send("WAIT", "1", "1000")) === 1;
  };
  await eventually(async () => ((await follows()) ? true : undefined), "the replica to follow");
  return {
    ...parts,
    replica,
    cutOff: () => replica.send("REPLICAOF", "NO", "ONE"),
    async takeOver() {
      await parts.redis.kill();
      parts.proxy.leadTo(replica.port);
    },
  };
}

/** A primary whose replication link can be closed, and a ledger behind a spool that knows both servers. */
export async function startReplicated(options: OpenOptions = {}) {
  const clock = manualClock(systemClock.epochMs());
  const parts = await startSpooled();
  const way = await startTcpProxy(parts.redis.port);
  const replica = await startRedis({ replicaof: `127.0.0.1 ${way.port}` });
  onTestFinished(async () => {
    await replica.dispose();
    await way.close();
  });
  const copied = async () => (await parts.redis.send("WAIT", "1", "100")) === 1 || undefined;
  await eventually(copied, "the replica to follow");
  const opened = await parts.reopen({ spoolClock: clock, ...options });
  return { ...parts, ...opened, clock, way, replica };
}

export function request(holdId: string, cents: number) {
  const hold = { accountId: "ada", holdId, cents, nowMs: systemClock.epochMs() };
  return holdRequest(hold, { leaseMs: LEASE_MS });
}

export async function allTold(ledger: SpooledLedger): Promise<void> {
  await eventually(() => (ledger.spoolState().depth === 0 ? true : undefined), "the spool to be told");
}

/** Sweeps until nothing is held: the holds of dead processes must end within a lease and a sweep. */
export async function allResolved(ledger: Ledger, accountId = "ada", msMax = 3 * LEASE_MS): Promise<void> {
  await eventually(
    async () => {
      await ledger.sweep(1_000);
      return (await ledger.account(accountId))?.heldNano === 0 ? true : undefined;
    },
    "all holds to end",
    msMax,
  );
}

export const ada = (holdId: string) => ({ accountId: "ada", holdId });
export const cost = (holdId: string, cents: number) => postRequest({ ...ada(holdId), cents });
export const AWAY = expect.objectContaining({ code: "ledger_unavailable" });

export const failing = (store: SharedLedger): SharedLedger => ({
  ...store,
  post: () => Promise.reject(new Error("no answer that makes sense")),
});

export function charged(cents: number) {
  return { chargedNano: cents * CENT, chargedCents: cents };
}

// `growth` over Redis: two processes on a server with a million accounts, beside two on a server with the callers alone.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { systemClock } from "../../src/core/clock.ts";
import { nano, ZERO } from "../../src/core/money.ts";
import { LEASE_MS } from "../../src/gateway/stores.ts";
import { mintId, mintKey } from "../../src/money/accounts/secrets.ts";
import { openArchive } from "../../src/money/ledger/archive/open-archive.ts";
import { redisBookTarget } from "../../src/money/ledger/redis/books.ts";
import { openRedis } from "../../src/platform/storage/redis-link.ts";
import { type RedisServer, startRedis } from "../../test/support/redis.ts";
import { atMost, type Bench, expectWhole, type Row, startClient, told } from "../bench.ts";
import { SOMEBODY } from "../load/jobs.ts";
import { cpuMs, median, medianRatio } from "../measure.ts";
import { startTollgate } from "../peers/tollgate.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { requestText } from "../workload.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const ACCOUNTS = 10_000_000;
const KNOWN = 20_000;
const CONNECTIONS = 32;
const PROCESSES = 2;
const AT_ONCE = 500;
const COMMAND_MS_MAX = 60_000;
const CREDIT_NANO = nano(1_000_000_000_000);
const NO_POSTING = {
  ...{ keyId: null, parentId: null, requestId: null, operation: null, asked: null, served: null, provider: null },
  ...{ chargedCents: 0, upstreamNano: ZERO, absorbedNano: ZERO, absorbReason: null, usage: null, estimated: false },
  ...{ priceVersion: null, reason: null, legs: [], tags: [], day: null, inference: false, windows: null },
};

/** Adds accounts to a Redis that a gateway has initialized; returns the secrets of those with credit. */
async function fill(url: string, archiveUrl: string, accounts: number): Promise<string[]> {
  const link = await openRedis(url, { onBroken() {}, commandMsMax: COMMAND_MS_MAX });
  const onFatal = (error: Error) => process.stderr.write(`${error}\n`);
  const { archive } = await openArchive(archiveUrl, { file: "", clock: systemClock, onFatal });
  const target = redisBookTarget({ link, archive, clock: systemClock, leaseMs: LEASE_MS });
  const nowMs = systemClock.epochMs();
  const secrets: string[] = [];
  for (let from = 0; from < accounts; from += AT_ONCE) {
    const ids = Array.from({ length: Math.min(AT_ONCE, accounts - from) }, () => mintId("acct_"));
    // Spread the callers among all accounts.
    const known = new Set(ids.filter((_, at) => (from + at) % Math.max(1, Math.floor(accounts / KNOWN)) === 0));
    const credit = { ...NO_POSTING, kind: "topup" as const, amountNano: CREDIT_NANO, reference: "opening credit" };
    await target.takePostings(
      [...known].map((accountId) => ({
        ...credit,
        ...{ accountId, transactionId: `open_${accountId}`, createdAtMs: nowMs, number: 1 },
      })),
    );
    await Promise.all(
      ids.map((accountId) => {
        const { secret, secretHash, hint } = mintKey(false);
        if (known.has(accountId)) secrets.push(secret);
        const limits = { inferenceCapNano: CREDIT_NANO, requestsPerMinute: 10_000_000, inFlightMax: 20_000 };
        const granted = { grantedNano: known.has(accountId) ? CREDIT_NANO : ZERO, spentNano: ZERO, absorbedNano: ZERO };
        const account = { ...limits, ...granted, frozen: false, strictBounds: false, createdAtMs: nowMs };
        const none = { externalId: null, ceilingNano: null, ceilingPeriod: null, services: null, models: null };
        const key = { ...none, keyId: mintId("key_"), accountId, primary: true, paused: false, createdAtMs: nowMs };
        return target.takeAccount({
          account: { ...account, accountId, name: "bench", kind: "personal" },
          clockMs: nowMs,
          keys: [{ ...key, secretHash, hint, label: "primary", lastUsedAtMs: null, expiresAtMs: null }],
          idempotency: [],
          costs: [],
        });
      }),
    );
  }
  await link.close();
  await archive.close();
  return secrets;
}

interface Place {
  readonly server: RedisServer;
  readonly subjects: readonly Subject[];
  readonly callers: readonly string[];
}

async function openPlace(bench: Bench, name: string, accounts: number): Promise<Place> {
  const folder = join(bench.folder, `growth-redis-${name}`);
  mkdirSync(folder, { recursive: true });
  const server = await startRedis({ dir: folder, appendonly: "no" });
  const archiveUrl = String(pathToFileURL(join(folder, "archive.db")));
  const settings = { REDIS_URL: server.url, ARCHIVE_URL: archiveUrl, SIGNING_SECRET: "of-all-the-gateways" };
  const start = (process: string) => {
    const ground = { ...bench, upstreamPort: bench.upstream.port, nodeFlags: [], folder: join(folder, process) };
    return startTollgate(ground, "tollgate", ROOT, { ...settings, REDIS_UNSAFE: "1", REDIS_COMMAND_MS: "5000" });
  };
  const first = await start("first");
  if (first.child !== null) await bench.processes.stop(first.child);
  const callers = await fill(server.url, archiveUrl, accounts);
  // Money needs durable writes; only the filling ran without.
  await server.send("CONFIG", "SET", "appendonly", "yes");
  while (/aof_rewrite_in_progress:1|aof_rewrite_scheduled:1/.test(String(await server.send("INFO", "persistence")))) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const subjects: Subject[] = [];
  for (let at = 0; at < PROCESSES; at++) subjects.push(await start(`process-${at}`));
  bench.say(`  ${name}: ${accounts} accounts are in Redis`);
  return { server, subjects, callers };
}

async function figure(server: RedisServer, section: string, pattern: RegExp): Promise<number> {
  return Number(pattern.exec(String(await server.send("INFO", section)))?.[1]);
}

/** A call's CPU in the processes, and the server's time for it, in microseconds. */
async function costOf({ server, subjects, callers }: Place, clients: readonly Client[], ms: number) {
  const used = () => subjects.reduce((sum, { pid }) => sum + cpuMs(pid ?? 0), 0);
  await server.send("CONFIG", "RESETSTAT");
  const before = used();
  const results = await Promise.all(
    subjects.map(async (subject, at) => {
      const anybody = { ...subject, headers: { authorization: `Bearer ${SOMEBODY}` } };
      const request = requestText(anybody, { stream: false });
      const result = await (clients[at] as Client).run({
        ...{ kind: "closed", port: subject.port, request, callers, connections: CONNECTIONS, ms },
      });
      expectWhole(subject, result);
      return result.whole;
    }),
  );
  const calls = results.reduce((sum, whole) => sum + whole, 0);
  const stats = String(await server.send("INFO", "commandstats"));
  const micros = [...stats.matchAll(/^cmdstat_[^:]+:calls=\d+,usec=(\d+)/gm)].reduce(
    (sum, [, usec]) => sum + Number(usec),
    0,
  );
  return { cpu: ((used() - before) * 1_000) / calls, server: micros / calls };
}

export async function growthRedis(bench: Bench): Promise<Row[]> {
  const accounts = Math.round(ACCOUNTS * bench.scale);
  const name = `Redis with ${accounts} accounts`;
  const places = {
    empty: await openPlace(bench, "empty", Math.min(KNOWN, accounts)),
    grown: await openPlace(bench, "grown", accounts),
  };
  const clients = [await startClient(bench), await startClient(bench)];
  const cpu = { empty: [] as number[], grown: [] as number[] };
  const server = { empty: [] as number[], grown: [] as number[] };
  for (let round = 0; round <= bench.rounds; round++) {
    for (const which of ["empty", "grown"] as const) {
      const cost = await costOf(places[which], clients, round === 0 ? 12_000 : bench.quick ? 2_000 : 4_000);
      bench.say(
        `  ${name}, round ${round}: ${which} ${cost.cpu.toFixed(0)} us CPU, ${cost.server.toFixed(1)} us of Redis`,
      );
      if (round === 0) continue;
      cpu[which].push(cost.cpu);
      server[which].push(cost.server);
    }
  }
  const metricsMs: number[] = [];
  const [subject] = places.grown.subjects;
  for (let time = 0; time < 3; time++) {
    const from = performance.now();
    await subject?.ask?.("GET", "/metrics");
    metricsMs.push(performance.now() - from);
  }
  const megabytes = async ({ server: one }: Place) => (await figure(one, "memory", /^used_memory:(\d+)/m)) / 1e6;
  const memory = { empty: await megabytes(places.empty), grown: await megabytes(places.grown) };
  for (const { subjects } of Object.values(places))
    for (const { child } of subjects) if (child !== null) await bench.processes.stop(child);
  await places.empty.server.dispose();
  await places.grown.server.dispose();
  const both = (of: typeof cpu, digits: number) =>
    `${median(of.empty).toFixed(digits)} us empty, ${median(of.grown).toFixed(digits)} us grown`;
  return [
    told(name, "memory of Redis", `${memory.empty.toFixed(0)} MB empty, ${memory.grown.toFixed(0)} MB grown`),
    told(name, `CPU per call, ${PROCESSES} processes, ${KNOWN} keys at random`, both(cpu, 0)),
    atMost(name, "CPU per call over the empty one's", medianRatio(cpu.grown, cpu.empty), 1.1, "x"),
    told(name, "Redis' time per call", both(server, 1)),
    atMost(name, "Redis' time per call over the empty one's", medianRatio(server.grown, server.empty), 1.1, "x"),
    told(name, "/metrics, the first and those after it", metricsMs.map((ms) => `${ms.toFixed(0)} ms`).join(", ")),
  ];
}

// The ledger over Redis beside a bare client that runs the same two scripts; in its own process, with its own server.
import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { systemClock } from "../src/core/clock.ts";
import type { Ledger } from "../src/money/ledger/model/ledger.ts";
import { argumentsOf, type Transition } from "../src/money/ledger/redis/arguments.ts";
import { postArguments } from "../src/money/ledger/redis/holds.ts";
import { redisLedger } from "../src/money/ledger/redis/ledger.ts";
import { accountKey } from "../src/money/ledger/redis/rows.ts";
import { scriptOf } from "../src/money/ledger/redis/script.ts";
import { openRedis } from "../src/platform/storage/redis-link.ts";
import { startRedis } from "../test/support/redis.ts";
import { atLeast, atMost, type Row, told } from "./bench.ts";
import { holdRequest, openAccount, postRequest } from "./ledger.bench.ts";
import { median, quantile } from "./measure.ts";

const [, , folder = ".", rounds = "5", secondsText = "1"] = process.argv;
const ROUNDS = Number(rounds);
const ROUND_MS = Number(secondsText) * 1_000;
const NAME = "redis: ledger";
const ACCOUNTS = 64;
const IN_FLIGHT = 64;
const COMMAND_MS_MAX = 500;
const OPEN_PER_SECOND = 5_000;
const MEASURED_ACCOUNTS = 1_000;
const MEASURED_CALLS = 10_000;

/** One hold and its post; returns the hold's milliseconds. */
type Pair = (accountId: string, at: number) => Promise<number>;

const newId = () => `tx_${Date.now().toString(36)}${randomBytes(10).toString("hex")}`;
const account = (at: number) => `account-${at % ACCOUNTS}`;

/** Sends what the ledger sends, and nothing else: the floor. */
async function barePairs(client: Redis): Promise<Pair> {
  const sha = async (op: Transition) => String(await client.script("LOAD", scriptOf(op)));
  const [reserve, post] = [await sha("reserve"), await sha("post")];
  const meta = JSON.stringify({ parentId: null, requestId: `req_${newId()}`, operation: "chat", asked: "core/cheap" });
  const { detail } = postArguments(postRequest("", ""));
  return async (accountId, at) => {
    const [key, id, now] = [accountKey(accountId), newId(), String(Date.now())];
    const keyId = `key-${at % ACCOUNTS}`;
    const from = performance.now();
    const asked = { hold_id: id, key_id: keyId, amount: 20_000, lease_ms: 60_000, inference: "1", meta };
    const none = { idempotency: "", fingerprint: "", keep_ms: "", window_limit: "", window_seconds: "" };
    const hold = argumentsOf("reserve", { ...asked, ...none, effect: "read", on_expire: "void" });
    const slot = ["calls", "1000", "concurrency_limit"];
    const held = (await client.evalsha(reserve, 1, key, now, "0", "", ...hold, ...slot)) as string[];
    const took = performance.now() - from;
    const cost = { upstream: 9_000, beside: "" };
    const end = argumentsOf("post", {
      hold_id: id,
      amount: 12_345,
      ...cost,
      detail,
      absorb_reason: "usage_above_hold",
    });
    const posted = (await client.evalsha(post, 1, key, String(Date.now()), "0", "", ...end)) as string[];
    if (held[0] !== "held" || posted[0] !== "posted") throw new Error(`bare: ${held}, ${posted}`);
    return took;
  };
}

/** Two empty scripts: the server's cost of any request on this machine today. */
async function emptyPairs(client: Redis): Promise<Pair> {
  const sha = String(await client.script("LOAD", "return { 'held' }"));
  return async (accountId) => {
    const from = performance.now();
    await client.evalsha(sha, 1, accountKey(accountId));
    const took = performance.now() - from;
    await client.evalsha(sha, 1, accountKey(accountId));
    return took;
  };
}

function ledgerPairs(ledger: Ledger): Pair {
  return async (accountId, at) => {
    const id = newId();
    const from = performance.now();
    const held = await ledger.reserve(holdRequest(accountId, id, `key-${at % ACCOUNTS}`));
    const took = performance.now() - from;
    const posted = await ledger.post(postRequest(accountId, id));
    // On a busy machine a reply can be late, and the repeated hold then finds the first.
    const isHeld = held.outcome === "held" || held.outcome === "exists";
    if (!isHeld || posted.outcome !== "posted") throw new Error(`${held.outcome}, ${posted.outcome}`);
    return took;
  };
}

let failed = 0;

/** A late reply counts as a command's timeout. */
function late(): number {
  failed += 1;
  return COMMAND_MS_MAX;
}

async function closedLoop(pair: Pair): Promise<{ pairsPerSecond: number; holdMs: number[] }> {
  const holdMs: number[] = [];
  const from = performance.now();
  let at = 0;
  const lane = async () => {
    while (performance.now() - from < ROUND_MS) holdMs.push(await pair(account(at), at++).catch(late));
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  return { pairsPerSecond: (holdMs.length * 1_000) / (performance.now() - from), holdMs };
}

/** Holds at random times, whether or not earlier ones were answered; time counts from when each was due. */
async function openLoop(pair: Pair): Promise<number[]> {
  const holdMs: number[] = [];
  const running: Promise<unknown>[] = [];
  const from = performance.now();
  let due = from;
  for (let at = 0; due < from + 2 * ROUND_MS; ) {
    // A machine that keeps falling behind has no figure.
    if (running.length - holdMs.length > OPEN_PER_SECOND / 5) break;
    for (; due <= performance.now(); at++) {
      const behind = performance.now() - due;
      running.push(
        pair(account(at), at)
          .catch(late)
          .then((took) => holdMs.push(behind + took)),
      );
      due += (-Math.log(1 - Math.random()) * 1_000) / OPEN_PER_SECOND;
    }
    await new Promise((again) => setImmediate(again));
  }
  await Promise.all(running);
  return due < from + 2 * ROUND_MS ? [] : holdMs;
}

async function figure(client: Redis, section: string, pattern: RegExp): Promise<number> {
  return Number(pattern.exec(await client.info(section))?.[1]);
}
const usedBytes = (client: Redis) => figure(client, "memory", /^used_memory:(\d+)/m);
const sentBytes = (client: Redis) => figure(client, "stats", /^total_net_input_bytes:(\d+)/m);
const answeredBytes = (client: Redis) => figure(client, "stats", /^total_net_output_bytes:(\d+)/m);
const scriptMicros = (client: Redis) =>
  figure(client, "commandstats", /^cmdstat_(?:evalsha|fcall):calls=\d+,usec=(\d+)/m);

/** Mean MEMORY USAGE and count of the keys that match a pattern. */
async function usage(client: Redis, pattern: string): Promise<{ bytes: number; count: number }> {
  let [bytes, count] = [0, 0];
  for await (const keys of client.scanStream({ match: pattern, count: 1_000 })) {
    const sizes = await Promise.all((keys as string[]).map((key) => client.memory("USAGE", key, "SAMPLES", 0)));
    bytes += sizes.reduce<number>((sum, size) => sum + Number(size), 0);
    count += sizes.length;
  }
  return { bytes, count };
}

/** The memory of accounts, finished calls and archived calls, as the server reports it. */
async function memory(client: Redis, ledger: Ledger): Promise<Row[]> {
  await client.flushdb();
  const empty = await usedBytes(client);
  for (let at = 0; at < MEASURED_ACCOUNTS; at++) await openAccount(ledger, at);
  const opened = await usedBytes(client);
  const pair = ledgerPairs(ledger);
  for (let at = 0; at < MEASURED_CALLS; at += IN_FLIGHT) {
    await Promise.all(Array.from({ length: IN_FLIGHT }, (_, lane) => pair(account(lane), lane)));
  }
  const called = await usedBytes(client);
  const { bytes, count } = await usage(client, "{a:*}:c:tx_*");
  const trim = scriptOf("trim");
  for (let at = 0; at < ACCOUNTS; at++) {
    const key = accountKey(account(at));
    await client.eval(trim, 1, key, String(Date.now()), "0", "", "0", String(await client.hget(key, "seq")));
  }
  const trimmed = await usage(client, "{a:*}:c:tx_*");
  return [
    told(NAME, "memory of an account", `${Math.round((opened - empty) / MEASURED_ACCOUNTS)} bytes`),
    told(
      NAME,
      "memory of a finished call",
      `${Math.round((called - opened) / count)} bytes (its posting ${Math.round(bytes / count)})`,
    ),
    told(NAME, "memory of a call in the archive, for 6 hours", `${Math.round(trimmed.bytes / trimmed.count)} bytes`),
  ];
}

async function compare(client: Redis, ledger: Ledger): Promise<Row[]> {
  for (let at = 0; at < ACCOUNTS; at++) await openAccount(ledger, at);
  const [bare, empty, ours] = [await barePairs(client), await emptyPairs(client), ledgerPairs(ledger)];
  const ratios: number[] = [];
  const p50s: number[] = [];
  const micros: number[] = [];
  const idle: number[] = [];
  let last = { bare: 0, ours: 0, p50: 0 };
  let [sent, answered] = [0, 0];
  for (let round = 0; round <= ROUNDS; round++) {
    await client.config("RESETSTAT");
    const nothing = await closedLoop(empty);
    idle.push((await scriptMicros(client)) / nothing.holdMs.length);
    const floor = await closedLoop(bare);
    await client.config("RESETSTAT");
    const seen = await closedLoop(ours);
    const perPair = (await scriptMicros(client)) / seen.holdMs.length;
    sent = (await sentBytes(client)) / seen.holdMs.length;
    answered = (await answeredBytes(client)) / seen.holdMs.length;
    // Round 0 warms up the compiler.
    if (round === 0) continue;
    ratios.push(seen.pairsPerSecond / floor.pairsPerSecond);
    p50s.push(quantile(seen.holdMs, 0.5) / quantile(floor.holdMs, 0.5));
    micros.push(perPair);
    last = { bare: floor.pairsPerSecond, ours: seen.pairsPerSecond, p50: quantile(seen.holdMs, 0.5) };
  }
  const bareOpen = await openLoop(bare);
  const open = await openLoop(ours);
  if (failed > 0) process.stderr.write(`  ${failed} holds or posts had no answer in time: the machine is too busy\n`);
  const rates = `${last.ours.toFixed(0)} and ${last.bare.toFixed(0)} pairs/s`;
  return [
    told(NAME, "64 in flight, ours and a bare client's", `${rates}, hold p50 ${last.p50.toFixed(2)} ms`),
    atLeast(NAME, "hold + post over a bare client's", median(ratios), 0.8, "x"),
    atMost(NAME, "p50 of a hold over a bare client's, 64 in flight", median(p50s), 1.2, "x"),
    atMost(NAME, "the server's time for hold + post", median(micros), 45, " us"),
    told(NAME, "the server's time for two scripts that do nothing", `${median(idle).toFixed(1)} us`),
    told(NAME, "bytes for hold + post, to the server and back", `${sent.toFixed(0)} and ${answered.toFixed(0)}`),
    told(NAME, `p50 of a bare client's hold at ${OPEN_PER_SECOND}/s`, `${quantile(bareOpen, 0.5).toFixed(2)} ms`),
    atMost(NAME, `p50 of a hold at ${OPEN_PER_SECOND}/s, open loop`, quantile(open, 0.5), 1, " ms"),
  ];
}

const server = await startRedis({ dir: folder });
const client = new Redis(server.url);
const link = await openRedis(server.url, { onBroken() {} });
const ledger = redisLedger({ link, clock: systemClock, leaseMs: 60_000 });
const rows = [...(await compare(client, ledger)), ...(await memory(client, ledger))];
await link.close();
client.disconnect();
await server.dispose();
process.send?.({ port: 0, rows });
process.disconnect?.();

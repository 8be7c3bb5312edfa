// Several gateway processes over one Redis and one sandbox, and load on all of them, for tests that kill at will.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { NANO_PER_CENT } from "../../src/core/money.ts";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import type { Random } from "../../src/sandbox/vocabulary.ts";
import { callChat, type SeenCall } from "./chat-call.ts";
import { eventually } from "./gateway.ts";
import { type GatewayProcess, spawnGateway } from "./gateway-process.ts";
import { HASTY_MS } from "./patience.ts";
import { removeFolder } from "./remove-folder.ts";

export interface FleetAccount {
  readonly accountId: string;
  readonly key: string;
}

export interface FleetCharge {
  readonly kind: string;
  readonly transaction_id: string;
  readonly request_id: string;
  readonly charged_nano_usd: number;
  readonly charged_cents: number;
  readonly absorbed_nano_usd?: number;
}

export interface FleetDoctor {
  readonly holds: number;
  readonly findings: readonly unknown[];
}

const START_TRIES = 10;

export interface Fleet {
  readonly sandbox: Sandbox;
  /** The running gateways. */
  up(): GatewayProcess[];
  /** Kills one at once, whatever it is doing. */
  kill(at: number): Promise<void>;
  /** Restarts one on its own folder. */
  start(at: number): Promise<void>;
  account(creditCents: number): Promise<FleetAccount>;
  charges(account: FleetAccount): Promise<FleetCharge[]>;
  /** An account's balance and held amount, in whole cents. */
  balance(account: FleetAccount): Promise<readonly [balanceCents: number, heldCents: number]>;
  doctor(): Promise<FleetDoctor>;
  /** Makes all drain, and returns their exit codes. */
  drain(): Promise<(number | null)[]>;
  dispose(): Promise<void>;
}

const FAR = { inference_cap_cents: 900_000_000, rate_limit: { requests_per_minute: 10_000_000, in_flight: 100_000 } };

/** Starts `size` gateways. Each has its own folder, as on separate machines; without a Redis, its own ledger too. */
export async function startFleet(
  size: number,
  redisUrl: string | null,
  environment: Readonly<Record<string, string>> = {},
  program?: readonly string[],
): Promise<Fleet> {
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  const folder = mkdtempSync(join(tmpdir(), "tollgate-fleet-"));
  const gateways = new Map<number, GatewayProcess>();
  const up = () => [...gateways.values()];
  const first = (): GatewayProcess => {
    const [one] = gateways.values();
    if (one === undefined) throw new Error("no gateway is running");
    return one;
  };
  async function start(at: number): Promise<void> {
    const settings = {
      ...(redisUrl === null ? {} : { REDIS_URL: redisUrl }),
      // Tests start a fleet to see what happens to calls while Redis is unavailable.
      REDIS_COMMAND_MS: String(HASTY_MS),
      SANDBOX_URL: sandbox.url,
      LOG_LEVEL: "error",
      DRAIN_SECONDS: "5",
    };
    // One machine, and so one archive for all of them.
    const archive = { ARCHIVE_URL: `file://${join(folder, "archive.db")}` };
    const all = { ...settings, ...archive, ...environment, DATA_DIR: join(folder, `gateway-${at}`) };
    for (let tries = 1; !gateways.has(at); tries++) {
      // A gateway that cannot reach its Redis at start exits, and its supervisor starts it again.
      const one = await spawnGateway(all, undefined, program).catch((error: Error) =>
        tries < START_TRIES && /cannot be reached/.test(error.message) ? null : Promise.reject(error),
      );
      if (one !== null) gateways.set(at, one);
    }
  }
  async function kill(at: number): Promise<void> {
    const one = gateways.get(at);
    gateways.delete(at);
    await one?.kill();
  }
  await Promise.all(Array.from({ length: size }, (_, at) => start(at)));

  /** The operator's view: on a busy machine Redis may not answer the first time. */
  const looked = (path: string) =>
    eventually(
      async () => {
        const row = await first().admin("GET", path);
        if (row.error === "ledger_unavailable") return undefined;
        if (row.error !== undefined) throw new Error(`${path}: ${JSON.stringify(row)}`);
        return row;
      },
      `an answer at ${path}`,
      20_000,
    );

  return {
    sandbox,
    up,
    kill,
    start,
    async account(creditCents) {
      const body = { name: "load", kind: "sandbox", credit_cents: creditCents };
      const made = await first().admin("POST", "/admin/v1/accounts", body);
      await first().admin("PATCH", `/admin/v1/accounts/${made.account_id}`, FAR);
      return { accountId: String(made.account_id), key: String(made.api_key) };
    },
    async charges({ key }) {
      const rows: FleetCharge[] = [];
      const headers = { authorization: `Bearer ${key}` };
      const read = async (cursor: string) => {
        const response = await fetch(`${first().url}/api/v1/transactions?limit=1000${cursor}`, { headers });
        const page = (await response.json()) as { transactions: FleetCharge[]; next_cursor: string | null };
        return response.status === 200 ? page : undefined;
      };
      for (let cursor = ""; ; ) {
        const page = await eventually(() => read(cursor), "the transactions");
        rows.push(...page.transactions.filter(({ kind }) => kind === "charge"));
        if (page.next_cursor === null) return rows;
        cursor = `&cursor=${page.next_cursor}`;
      }
    },
    async balance({ accountId }) {
      const row = await looked(`/admin/v1/accounts/${accountId}`);
      return [Number(row.balance_cents), Number(row.held_cents)];
    },
    async doctor() {
      const { holds, findings } = await looked("/admin/v1/doctor");
      return { holds: Number(holds), findings: findings as unknown[] };
    },
    async drain() {
      const exits = await Promise.all(up().map((gateway) => gateway.terminate()));
      gateways.clear();
      return exits.map(({ code }) => code);
    },
    async dispose() {
      await Promise.all([...gateways.keys()].map(kill));
      await sandbox.close();
      removeFolder(folder);
    },
  };
}

/** A charge that a client received. */
interface Acknowledged {
  readonly requestId: string;
  readonly nano: number;
}

export interface Load {
  readonly acknowledged: readonly Acknowledged[];
  /** Counts of calls by their end: an error's code, else the status; 0 where no answer came. */
  readonly endings: ReadonlyMap<string, number>;
  /** The slowest answer, in milliseconds. */
  slowestMs(): number;
  /** Settles after `count` more acknowledged charges. */
  progress(count: number, msMax?: number): Promise<void>;
  /** Stops the load and waits for the running calls. */
  stop(): Promise<void>;
}

const MODELS = ["sandbox/ok", "sandbox/ok-at-1000", "sandbox-messages/ok-at-500", "sandbox/cut-after-20"];
const IDLE_MS = 20;

/** Calls of one account through all running gateways, `workers` at a time, streamed and not. */
export function startLoad(fleet: Fleet, account: FleetAccount, random: Random, workers: number): Load {
  const acknowledged: Acknowledged[] = [];
  const endings = new Map<string, number>();
  let over = false;
  let slowestMs = 0;

  async function call(): Promise<SeenCall | null> {
    const gateways = fleet.up();
    const gateway = gateways[Math.floor(random() * gateways.length)];
    if (gateway === undefined) return null;
    const stream = random() < 0.6;
    const body = {
      model: MODELS[Math.floor(random() * MODELS.length)],
      ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
      max_tokens: 100,
      messages: [{ role: "user", content: "hello" }],
    };
    const fromMs = performance.now();
    const seen = await callChat(body, { url: gateway.url, key: account.key });
    slowestMs = Math.max(slowestMs, performance.now() - fromMs);
    return seen;
  }

  async function lane(): Promise<void> {
    while (!over) {
      const seen = await call();
      if (seen !== null) {
        const ending = seen.error?.code ?? String(seen.status);
        endings.set(ending, (endings.get(ending) ?? 0) + 1);
      }
      if (seen?.acknowledged) {
        acknowledged.push({ requestId: seen.requestId ?? "", nano: Math.round((seen.usage?.cost ?? 0) * 1e9) });
      } else if (seen?.status !== 200) {
        // A refused client soon retries, as real clients do.
        await new Promise((again) => setTimeout(again, IDLE_MS));
      }
    }
  }

  const lanes = Array.from({ length: workers }, lane);
  // Also where the test never reaches its `stop`.
  onTestFinished(() => {
    over = true;
  });
  return {
    acknowledged,
    endings,
    slowestMs: () => slowestMs,
    async progress(count, msMax = 120_000) {
      const from = acknowledged.length;
      await eventually(() => acknowledged.length >= from + count || undefined, `${count} more charges`, msMax);
    },
    async stop() {
      over = true;
      await Promise.all(lanes);
    },
  };
}

/** Every charge that a client received exists once, at its amount, and the charges add up to what the account has spent. */
export async function expectNothingLost(
  fleet: Fleet,
  account: FleetAccount,
  creditCents: number,
  { acknowledged }: Pick<Load, "acknowledged">,
): Promise<void> {
  const read = () => fleet.charges(account);
  let charges = await read();
  const missing = () => {
    const byRequest = new Map(charges.map((charge) => [charge.request_id, charge]));
    return acknowledged.filter(({ requestId, nano }) => byRequest.get(requestId)?.charged_nano_usd !== nano);
  };
  // A spool's charges reach Redis as soon as Redis answers.
  for (const until = Date.now() + 20_000; missing().length > 0 && Date.now() < until; charges = await read());
  expect(missing()).toEqual([]);
  expect(new Set(charges.map(({ request_id }) => request_id)).size).toBe(charges.length);
  expect(new Set(charges.map(({ transaction_id }) => transaction_id)).size).toBe(charges.length);
  const nano = charges.reduce((sum, { charged_nano_usd }) => sum + charged_nano_usd, 0);
  const cents = charges.reduce((sum, { charged_cents }) => sum + charged_cents, 0);
  expect(cents).toBe(Math.ceil(nano / NANO_PER_CENT));
  expect(cents).toBeLessThanOrEqual(creditCents);
  expect((await fleet.balance(account))[0]).toBe(creditCents - cents);
  expect((await fleet.doctor()).findings).toEqual([]);
}

/** Nothing is held any more: a dead process's holds have ended with their leases. */
export async function expectNothingHeld(fleet: Fleet, msMax: number): Promise<void> {
  await eventually(async () => (await fleet.doctor()).holds === 0 || undefined, "every hold to end", msMax);
}

// Load on a gateway that is killed and restarted repeatedly; at the end, compares the clients' answers with the ledger.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { NANO_PER_CENT } from "../../src/core/money.ts";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { type Random, randomFrom } from "../../src/sandbox/vocabulary.ts";
import { callChat, type SeenCall } from "./chat-call.ts";
import { doctorOffline, type GatewayProcess, spawnGateway } from "./gateway-process.ts";
import { removeFolder } from "./remove-folder.ts";

export interface KillPlan {
  /** Decides when the kills come. The load in between also depends on the machine. */
  readonly seed: number;
  readonly kills: number;
  /** The minimum and maximum time under load before each kill. */
  readonly loadMs: readonly [least: number, most: number];
  readonly workers: number;
}

/** A charge that a client received. */
interface Acknowledged {
  readonly requestId: string;
  readonly nano: number;
}

export interface Charge {
  readonly kind: string;
  readonly transaction_id: string;
  readonly request_id: string;
  readonly charged_nano_usd: number;
  readonly charged_cents: number;
}

export interface KillReport {
  /** Calls made, answered or not. */
  readonly calls: number;
  readonly acknowledged: readonly Acknowledged[];
  /** Of the account whose calls have no Idempotency-Key. */
  readonly charges: readonly Charge[];
  /** Keys that were sent until answered, and the charges of their account. */
  readonly keys: number;
  readonly chargesOfKeys: readonly Charge[];
  /** Charged keys whose answer is lost. */
  readonly lostAnswers: number;
  /** Holds open at each start, before any new call. */
  readonly holdsAtStart: readonly number[];
  readonly doctorAtStart: readonly unknown[];
  readonly exitCode: number | null;
  readonly offline: Awaited<ReturnType<typeof doctorOffline>>;
}

const MODELS = [
  "sandbox/ok",
  "sandbox/ok-at-1000",
  "sandbox-messages/ok-at-500",
  "sandbox-gemini/ok",
  "sandbox/cut-after-20",
];
const POLL_MS = 20;
const FAR = { inference_cap_cents: 900_000_000, rate_limit: { requests_per_minute: 10_000_000, in_flight: 100_000 } };

async function openAccount(gateway: GatewayProcess): Promise<string> {
  const made = await gateway.admin("POST", "/admin/v1/accounts", {
    name: "load",
    kind: "sandbox",
    credit_cents: 10_000_000,
  });
  await gateway.admin("PATCH", `/admin/v1/accounts/${made.account_id}`, FAR);
  return String(made.api_key);
}

async function chargesOf(url: string, key: string): Promise<Charge[]> {
  const rows: Charge[] = [];
  for (let cursor = ""; ; ) {
    const response = await fetch(`${url}/api/v1/transactions?limit=1000${cursor}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const page = (await response.json()) as { transactions: Charge[]; next_cursor: string | null };
    rows.push(...page.transactions.filter(({ kind }) => kind === "charge"));
    if (page.next_cursor === null) return rows;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

class Load {
  readonly acknowledged: Acknowledged[] = [];
  calls = 0;
  keys = 0;
  lostAnswers = 0;
  over = false;
  /** The gateway's address, or a promise of it while the gateway is down. */
  up = Promise.withResolvers<string>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  down(): void {
    this.up = Promise.withResolvers<string>();
  }

  async #send(key: string, stream: boolean, headers: Readonly<Record<string, string>> = {}): Promise<SeenCall> {
    const url = await this.up.promise;
    const model = MODELS[Math.floor(this.#random() * MODELS.length)];
    const usage = stream ? { stream_options: { include_usage: true } } : {};
    // With an Idempotency-Key every try must be the same request.
    const asked = headers["idempotency-key"] === undefined ? model : "sandbox/ok";
    const body = { model: asked, stream, ...usage, max_tokens: 100, messages: [{ role: "user", content: "hello" }] };
    this.calls++;
    return callChat(body, { url, key, headers });
  }

  async plain(key: string): Promise<void> {
    while (!this.over) {
      const seen = await this.#send(key, this.#random() < 0.6);
      if (!seen.acknowledged) continue;
      this.acknowledged.push({ requestId: seen.requestId ?? "", nano: Math.round((seen.usage?.cost ?? 0) * 1e9) });
    }
  }

  /** Sends each request until it is answered, as a careful client does. */
  async keyed(key: string): Promise<void> {
    while (!this.over) {
      const headers = { "idempotency-key": `order-${++this.keys}` };
      for (;;) {
        const seen = await this.#send(key, false, headers);
        if (seen.status === 200 && seen.acknowledged) break;
        if (seen.error?.code === "replay_unavailable") {
          this.lostAnswers++;
          break;
        }
        if (seen.error?.code === "idempotency_in_progress") await new Promise((again) => setTimeout(again, POLL_MS));
      }
    }
  }
}

/** Runs a plan from the first start to the last `doctor`. Every start but the first finds what a killed process left. */
export async function runKillLoop({ seed, kills, loadMs, workers }: KillPlan): Promise<KillReport> {
  const random = randomFrom(seed);
  const between = (least: number, most: number) => Math.round(least + random() * (most - least));
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-kill-"));
  const environment = { DATA_DIR: dataDir, SANDBOX_URL: sandbox.url, LOG_LEVEL: "error" };
  let gateway = await spawnGateway(environment);
  const load = new Load(randomFrom(seed + 1));
  // Not `finally`: a timed-out test never reaches it.
  onTestFinished(async () => {
    load.over = true;
    await gateway.kill();
    await sandbox.close();
    removeFolder(dataDir);
  });
  const [plainKey, keyedKey] = [await openAccount(gateway), await openAccount(gateway)];
  const running = Array.from({ length: workers }, (_, at) =>
    at % 4 === 0 ? load.keyed(keyedKey) : load.plain(plainKey),
  );
  const holdsAtStart: number[] = [];
  const doctorAtStart: unknown[] = [];
  for (let kill = 0; kill < kills; kill++) {
    load.up.resolve(gateway.url);
    await new Promise((resolve) => setTimeout(resolve, between(...loadMs)));
    load.down();
    await gateway.kill();
    if (random() < 0.3) await killWhileStarting(environment, between(50, 1_000));
    gateway = await spawnGateway(environment);
    holdsAtStart.push(await gateway.gauge("tollgate_holds_open"));
    doctorAtStart.push(...((await gateway.admin("GET", "/admin/v1/doctor")).findings as unknown[]));
  }
  load.over = true;
  load.up.resolve(gateway.url);
  await Promise.all(running);
  const [charges, chargesOfKeys] = [await chargesOf(gateway.url, plainKey), await chargesOf(gateway.url, keyedKey)];
  const { code } = await gateway.terminate();
  const offline = await doctorOffline(dataDir);
  const { acknowledged, calls, keys, lostAnswers } = load;
  return {
    ...{ calls, acknowledged, charges, keys, chargesOfKeys, lostAnswers },
    ...{ holdsAtStart, doctorAtStart, exitCode: code, offline },
  };
}

/** Kills a process early in its start, or just after it. */
async function killWhileStarting(environment: { DATA_DIR: string; SANDBOX_URL: string }, afterMs: number) {
  const started = await spawnGateway(environment, AbortSignal.timeout(afterMs)).catch(() => null);
  await started?.kill();
}

function sumNano(charges: readonly Charge[]): number {
  return charges.reduce((sum, { charged_nano_usd }) => sum + charged_nano_usd, 0);
}

/** Every acknowledged charge exists once, at its amount; no key was charged twice; nothing is held; the doctor finds nothing. */
export function expectNothingLost(report: KillReport, { kills }: KillPlan): void {
  const { acknowledged, charges, chargesOfKeys, offline } = report;
  const byRequest = new Map(charges.map((charge) => [charge.request_id, charge]));
  const wrong = acknowledged.filter(({ requestId, nano }) => byRequest.get(requestId)?.charged_nano_usd !== nano);
  expect(wrong).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(0);
  for (const rows of [charges, chargesOfKeys]) {
    expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(rows.length);
    expect(new Set(rows.map(({ transaction_id }) => transaction_id)).size).toBe(rows.length);
    const cents = rows.reduce((sum, { charged_cents }) => sum + charged_cents, 0);
    expect(cents).toBe(Math.ceil(sumNano(rows) / NANO_PER_CENT));
  }
  expect(chargesOfKeys).toHaveLength(report.keys);
  expect(report.lostAnswers).toBe(0);
  expect(report.holdsAtStart).toEqual(Array(kills).fill(0));
  expect(report.doctorAtStart).toEqual([]);
  expect(report.exitCode).toBe(0);
  expect(offline).toMatchObject({ code: 0, report: { holds: 0, findings: [] } });
}

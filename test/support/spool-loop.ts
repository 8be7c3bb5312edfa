// Several processes hold and charge over one Redis while everything is killed, cut and stopped; then both sides are compared.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { redisLedger } from "../../src/money/ledger/redis/ledger.ts";
import { type Random, randomFrom } from "../../src/sandbox/vocabulary.ts";
import { newAccount } from "../money/ledger/requests.ts";
import { allResolved, openSpooled } from "../money/ledger/spool/spooled.ts";
import { endWithTests } from "./end-with-tests.ts";
import { eventually } from "./gateway.ts";
import { openLink } from "./redis.ts";
import { removeFolder } from "./remove-folder.ts";
import type { SpoolStage, StartStage } from "./spool-stage.ts";

export interface SpoolPlan {
  /** Decides which fault comes when. The load in between also depends on the machine. */
  readonly seed: number;
  readonly rounds: number;
  readonly processes: number;
  readonly stage: StartStage;
  /** Names of the stage's faults, and `kill a process`; one in each round, and each once before any repeats. */
  readonly faults: readonly string[];
}

const CHILD = fileURLToPath(new URL("../money/ledger/spool/load-child.ts", import.meta.url));
const LEASE_MS = 8_000;
const SETTLED_MS_MAX = 60_000;
/** A server that has just started waits a lease before it ends anything; the rest takes a lease and a sweep. */
const RESOLVED_MS_MAX = 2.5 * LEASE_MS;
/** Its visits delay the spool's repetition of what it finds missing. */
const DOCTOR_EVERY_MS = 500;
const RICH = ["rich-1", "rich-2", "rich-3"];
/** Has credit for a few hundred calls in total: the processes compete for it. */
const POOR = "poor";

interface Charge {
  readonly accountId: string;
  readonly holdId: string;
  readonly chargedNano: number;
  readonly costNano: number;
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function startProcess(url: string, folder: string, run: string, acknowledged: Charge[], lost: string[]) {
  const words = [CHILD, url, folder, run, [...RICH, POOR].join(","), String(LEASE_MS)];
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...words], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  endWithTests(child);
  const began = Promise.withResolvers<void>();
  const lines = createInterface({ input: child.stdout }).on("line", (line) => {
    began.resolve();
    const [accountId = "", holdId = "", charged, cost] = line.split(" ");
    if (accountId === "lost") lost.push(line);
    else acknowledged.push({ accountId, holdId, chargedNano: Number(charged), costNano: Number(cost) });
  });
  const over = Promise.all([once(child, "exit"), once(lines, "close")]).then(([[code, signal]]) => {
    began.resolve();
    return { code, signal };
  });
  return { folder, began: began.promise, over, stop: () => child.stdin.end(), kill: () => child.kill("SIGKILL") };
}

/** Deals faults like cards: each comes once before any repeats, so that a plan with enough rounds meets them all. */
function* dealt(faults: readonly string[], random: Random): Generator<string, never> {
  for (;;) {
    const deck = [...faults];
    while (deck.length > 0) yield* deck.splice(Math.floor(random() * deck.length), 1);
  }
}

async function strike(stage: SpoolStage, fault: string): Promise<void> {
  const happen = stage.faults[fault];
  if (happen === undefined) throw new Error(`"${fault}" cannot happen to this store`);
  await happen();
}

/**
 * Every acknowledged charge must exist once and with its amount, nothing may be overspent or stay held, and the doctor must find nothing
 * on either side. Returns how many charges were acknowledged, and how many of them were orphans.
 */
export async function spoolLoop(plan: SpoolPlan): Promise<{ charges: number; orphans: number }> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-spools-"));
  const random = randomFrom(plan.seed);
  const stage = await plan.stage(random);
  // It only reads, thousands of times: one answer delayed by a busy machine is not an error.
  const side = await openLink(stage.sideUrl);
  const checker = redisLedger({ link: side, clock: systemClock, leaseMs: LEASE_MS });
  const acknowledged: Charge[] = [];
  const lost: string[] = [];
  let runs = 0;
  const faults = dealt(plan.faults, random);
  const start = (place: number) =>
    startProcess(stage.url, join(folder, String(place)), `run${runs++}`, acknowledged, lost);
  const processes: ReturnType<typeof startProcess>[] = [];
  try {
    for (const name of RICH) await checker.openAccount(newAccount(name, 1_000_000));
    await checker.openAccount(newAccount(POOR, 1));
    for (let place = 0; place < plan.processes; place++) processes.push(start(place));
    await Promise.all(processes.map(({ began }) => began));
    for (let round = 0; round < plan.rounds; round++) {
      await wait(200 + random() * 1_300);
      const fault = faults.next().value;
      if (fault === "kill a process") {
        const place = Math.floor(random() * processes.length);
        processes[place]?.kill();
        // It must not have ended by itself before.
        expect(await processes[place]?.over).toEqual({ code: null, signal: "SIGKILL" });
        const next = start(place);
        processes[place] = next;
        // A process that finds no store at its start exits with an error, a separate matter: so it must be running before the next fault.
        await next.began;
      } else await strike(stage, fault);
    }
    stage.calm();
    for (const { stop } of processes) stop();
    const ends = await Promise.all(processes.map(({ over }) => over));
    expect(ends).toEqual(processes.map(() => ({ code: 0, signal: null })));
    // A reader must first find the servers that have taken over.
    for (const name of [...RICH, POOR])
      await eventually(() => checker.account(name).catch(() => undefined), "the servers to be found", SETTLED_MS_MAX);
    for (const { folder: place } of processes) {
      const { ledger, broken, close } = await openSpooled(stage.sideUrl, place, { leaseMs: LEASE_MS });
      const clean = async () => {
        if ((await ledger.doctor()).findings.length === 0) return true;
        await wait(DOCTOR_EVERY_MS);
        return undefined;
      };
      await eventually(clean, "both sides to agree", SETTLED_MS_MAX).catch(async () => {
        expect(broken).toEqual([]);
        expect((await ledger.doctor()).findings).toEqual([]);
      });
      await close();
    }
    for (const name of [...RICH, POOR]) await allResolved(checker, name, RESOLVED_MS_MAX);
    expect(lost).toEqual([]);
    return await compare(checker, acknowledged);
  } finally {
    for (const { kill } of processes) kill();
    await Promise.all(processes.map(({ over }) => over));
    await side.close();
    await stage.dispose();
    removeFolder(folder);
  }
}

async function compare(checker: ReturnType<typeof redisLedger>, acknowledged: readonly Charge[]) {
  const wrong: unknown[] = [];
  let orphans = 0;
  for (const charge of acknowledged) {
    const row = await checker.transaction(charge.accountId, charge.holdId);
    if (row?.reason === "orphan") orphans++;
    // On an account that is out of money, the rest of a lost or expired hold's cost is absorbed.
    const isClamped = charge.accountId === POOR && (row?.reason === "orphan" || row?.reason === "late");
    const chargedNano = isClamped ? charge.chargedNano : row?.amountNano;
    const costNano = (row?.amountNano ?? 0) + (row?.absorbedNano ?? 0);
    if (chargedNano !== charge.chargedNano || costNano !== charge.costNano) wrong.push({ charge, row });
  }
  expect(wrong).toEqual([]);
  expect(new Set(acknowledged.map(({ holdId }) => holdId)).size).toBe(acknowledged.length);
  expect((await checker.doctor()).findings).toEqual([]);
  return { charges: acknowledged.length, orphans };
}

// Several processes hold and charge over one Redis while everything is killed, cut and stopped; then both sides are compared.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
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
import type { SpoolStage, StartStage } from "./spool-stage.ts";

export interface SpoolPlan {
  /** Decides which fault comes when. What the load does in between depends on the machine as well. */
  readonly seed: number;
  readonly rounds: number;
  readonly processes: number;
  readonly stage: StartStage;
  /** Names of the stage's faults, and `kill a process`; one of them in each round, and none again before all have come. */
  readonly faults: readonly string[];
}

const CHILD = fileURLToPath(new URL("../money/ledger/spool/load-child.ts", import.meta.url));
const LEASE_MS = 8_000;
const SETTLED_MS_MAX = 60_000;
/** A server that was just started lets a lease pass before it ends anything; then what is left has a lease and a sweep. */
const RESOLVED_MS_MAX = 2.5 * LEASE_MS;
/** Its visits take from the spool the time to repeat what it finds missing. */
const DOCTOR_EVERY_MS = 500;
const RICH = ["rich-1", "rich-2", "rich-3"];
/** Has credit for a few hundred calls in all: the processes compete for it. */
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
  return {
    folder,
    began: began.promise,
    over,
    stop: () => child.stdin.end(),
    kill: () => child.kill("SIGKILL"),
  };
}

/** As cards are dealt: each of them has come once before any comes again, so that a plan of enough rounds meets them all. */
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
 * Every charge that was acknowledged must be there once and with its amount, nothing may be overspent or stay held, and the
 * doctor must find nothing on either side. Answers how many charges were acknowledged, and how many came by way of an orphan.
 */
export async function spoolLoop(plan: SpoolPlan): Promise<{ charges: number; orphans: number }> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-spools-"));
  const random = randomFrom(plan.seed);
  const stage = await plan.stage(random);
  // It only looks, thousands of times: one answer that a busy machine keeps back is no finding.
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
        // One that ended by itself before is no test's doing.
        expect(await processes[place]?.over).toEqual({ code: null, signal: "SIGKILL" });
        const next = start(place);
        processes[place] = next;
        // One that finds no store at its start ends with an error, which is another matter: it is at work before the next fault.
        await next.began;
      } else await strike(stage, fault);
    }
    stage.calm();
    for (const { stop } of processes) stop();
    const ends = await Promise.all(processes.map(({ over }) => over));
    expect(ends).toEqual(processes.map(() => ({ code: 0, signal: null })));
    // Whoever looks has to find the servers first that have taken over.
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
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(checker: ReturnType<typeof redisLedger>, acknowledged: readonly Charge[]) {
  const wrong: unknown[] = [];
  let orphans = 0;
  for (const charge of acknowledged) {
    const row = await checker.transaction(charge.accountId, charge.holdId);
    if (row?.reason === "orphan") orphans++;
    // Of an account that has no more, what is left of the cost of a hold that was lost or had expired is absorbed.
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

// Several processes over one file: the cost of a call in one and in two of them at the same load each, and the storage thread's share.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Bench, expectWhole, type Row, startClient, told } from "../bench.ts";
import { cpuMs, loopCpuMs, median, medianRatio } from "../measure.ts";
import { startTollgate } from "../peers/tollgate.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { requestText } from "../workload.ts";

const NAME = "cores";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Per process. */
const CONNECTIONS = 32;
/** Calls per process before it is measured, and in a round: with half as many it is still slower. */
const WARM_CALLS = 20_000;
const ROUND_CALLS = 6_000;
/** The share of them with `--quick`. */
const QUICK_SHARE = 0.3;
const MS_MAX = 300_000;
const READY_TRIES = 300;
const READY_PAUSE_MS = 100;

interface Ready {
  readonly ready: boolean;
  readonly processes?: { readonly ready: number };
}

/** A gateway's process and its children. */
function pidsOf({ pid }: Subject): readonly number[] {
  const own = pid ?? 0;
  const children = readFileSync(`/proc/${own}/task/${own}/children`, "utf8").trim().split(" ").filter(Boolean);
  return [own, ...children.map(Number)];
}

/** The machine's idle CPU since boot, in milliseconds. */
function idleMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}

interface Run {
  readonly aSecond: number;
  /** Microseconds of CPU per call: of all processes; of the parent's event loop; of its other threads, which are storage and syncs. */
  readonly usACall: number;
  readonly loopUsACall: number;
  readonly storeUsACall: number;
  /** Of all cores, in percent: where it is well above 0, the gateway was not the limit. */
  readonly idlePercent: number;
}

export async function cores(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const ground = { ...bench, upstreamPort: bench.upstream.port, nodeFlags: [] };
  const runs = new Map<number, Run[]>([1, 2].map((count) => [count, []]));
  const subjects = new Map<number, Subject>();
  const share = bench.quick ? QUICK_SHARE : 1;
  for (const count of runs.keys()) {
    const own = { ...ground, folder: join(bench.folder, `cores-${count}`) };
    const subject = await startTollgate(own, "tollgate", ROOT, { WORKERS: String(count) });
    subjects.set(count, subject);
    await allReady(subject, count);
    await run(subject, client, { processes: count, calls: share * WARM_CALLS });
  }
  for (let round = 1; round <= bench.rounds; round++) {
    for (const [count, subject] of subjects) {
      const one = await run(subject, client, { processes: count, calls: share * ROUND_CALLS });
      bench.say(
        `  ${NAME}, round ${round}, ${count}: ${one.aSecond.toFixed(0)}/s, ${one.usACall.toFixed(0)} us a call, ${one.storeUsACall.toFixed(0)} beside the loop`,
      );
      runs.get(count)?.push(one);
    }
  }
  for (const { child } of subjects.values()) if (child !== null) await bench.processes.stop(child);
  const usOfOne = (runs.get(1) ?? []).map(({ usACall }) => usACall);
  return [...runs].map(([count, all]) => {
    const of = (figure: keyof Run) => median(all.map((one) => one[figure])).toFixed(0);
    const us = all.map(({ usACall }) => usACall);
    const shared =
      `, ${medianRatio(us, usOfOne).toFixed(2)}x of one: ${of("loopUsACall")} us on the parent's event loop, ` +
      `${of("storeUsACall")} us in the thread that keeps the file`;
    const figures = `${of("aSecond")} calls/s, ${of("usACall")} us of CPU a call${count === 1 ? "" : shared}`;
    return told(NAME, `WORKERS=${count}, kept busy`, `${figures}; ${of("idlePercent")} % of the machine was idle`);
  });
}

/** The parent's admin listener is ready before its children are. */
async function allReady(subject: Subject, count: number): Promise<void> {
  for (let tries = 0; tries < READY_TRIES; tries++) {
    const state = (await subject.ask?.("GET", "/readyz").catch(() => null)) as Ready | null;
    if (state?.ready && (state.processes?.ready ?? 1) === count) return;
    await sleep(READY_PAUSE_MS);
  }
  throw new Error(`${count} processes were not ready in time`);
}

/** The same load for each process. */
interface Load {
  readonly processes: number;
  readonly calls: number;
}

async function run(subject: Subject, client: Client, { processes, calls }: Load): Promise<Run> {
  const request = requestText(subject, { stream: false });
  const pids = pidsOf(subject);
  const used = () => pids.map(cpuMs);
  const loop = () => loopCpuMs(pids[0] ?? 0);
  const [before, loopBefore, idleBefore, fromMs] = [used(), loop(), idleMs(), performance.now()];
  const load = { kind: "closed", connections: CONNECTIONS * processes, count: calls * processes, ms: MS_MAX } as const;
  const result = await client.run({ ...load, port: subject.port, request });
  const ms = performance.now() - fromMs;
  const [after, loopMs, idle] = [used(), loop() - loopBefore, idleMs() - idleBefore];
  expectWhole(subject, result);
  const [parentUs = 0, ...childrenUs] = after.map((own, at) => ((own - (before[at] ?? 0)) * 1_000) / result.whole);
  const loopUsACall = (loopMs * 1_000) / result.whole;
  return {
    aSecond: (result.whole * 1_000) / ms,
    usACall: childrenUs.reduce((sum, us) => sum + us, parentUs),
    loopUsACall,
    storeUsACall: parentUs - loopUsACall,
    idlePercent: (idle * 100) / (ms * cpus().length),
  };
}

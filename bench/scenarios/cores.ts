// Processes over one file: calls a second that one and two of them answer when they are kept busy, and what a call costs them together.
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Bench, expectWhole, type Row, startClient, told } from "../bench.ts";
import { cpuMs, loopCpuMs, median } from "../measure.ts";
import { startTollgate } from "../peers/tollgate.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { requestText } from "../workload.ts";

const NAME = "cores";
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONNECTIONS = 64;
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

/** The machine's CPU that was idle since it started, in milliseconds. */
function idleMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}

interface Run {
  readonly aSecond: number;
  /** Microseconds of CPU of all its processes together, and of the parent alone, whose storage thread serves them. */
  readonly usACall: number;
  readonly parentUsACall: number;
  readonly parentLoopUsACall: number;
  /** Of all cores, in percent: where it is not near 0, the gateway was not what limits. */
  readonly idlePercent: number;
}

export async function cores(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const ground = { ...bench, upstreamPort: bench.upstream.port, nodeFlags: [] };
  const runs = new Map<number, Run[]>([1, 2].map((count) => [count, []]));
  const subjects = new Map<number, Subject>();
  for (const count of runs.keys()) {
    const own = { ...ground, folder: join(bench.folder, `cores-${count}`) };
    const subject = await startTollgate(own, "tollgate", ROOT, { WORKERS: String(count) });
    subjects.set(count, subject);
    await allReady(subject, count);
    await run(subject, client, bench.quick ? 6_000 : 12_000);
  }
  for (let round = 1; round <= bench.rounds; round++) {
    for (const [count, subject] of subjects) {
      const one = await run(subject, client, bench.quick ? 2_000 : 4_000);
      bench.say(
        `  ${NAME}, round ${round}, ${count}: ${one.aSecond.toFixed(0)}/s, ${one.usACall.toFixed(0)} us a call`,
      );
      runs.get(count)?.push(one);
    }
  }
  for (const { child } of subjects.values()) if (child !== null) await bench.processes.stop(child);
  return [...runs].map(([count, all]) => {
    const of = (figure: keyof Run) => median(all.map((one) => one[figure])).toFixed(0);
    const shared =
      count === 1
        ? ""
        : `, ${of("parentUsACall")} us of it in the parent, ${of("parentLoopUsACall")} on its event loop`;
    const figures = `${of("aSecond")} calls/s, ${of("usACall")} us of CPU a call${shared}`;
    return told(NAME, `WORKERS=${count}, kept busy`, `${figures}; ${of("idlePercent")} % of the machine was idle`);
  });
}

/** The admin listener, which is the parent's, is there before the children are. */
async function allReady(subject: Subject, count: number): Promise<void> {
  for (let tries = 0; tries < READY_TRIES; tries++) {
    const state = (await subject.ask?.("GET", "/readyz").catch(() => null)) as Ready | null;
    if (state?.ready && (state.processes?.ready ?? 1) === count) return;
    await sleep(READY_PAUSE_MS);
  }
  throw new Error(`${count} processes were not ready in time`);
}

async function run(subject: Subject, client: Client, ms: number): Promise<Run> {
  const request = requestText(subject, { stream: false });
  const pids = pidsOf(subject);
  const used = () => pids.map(cpuMs);
  const loop = () => loopCpuMs(pids[0] ?? 0);
  const [before, loopBefore, idleBefore] = [used(), loop(), idleMs()];
  const result = await client.run({ kind: "closed", port: subject.port, request, connections: CONNECTIONS, ms });
  const [after, loopMs, idle] = [used(), loop() - loopBefore, idleMs() - idleBefore];
  expectWhole(subject, result);
  const usACall = after.map((own, at) => ((own - (before[at] ?? 0)) * 1_000) / result.whole);
  return {
    aSecond: (result.whole * 1_000) / ms,
    usACall: usACall.reduce((sum, us) => sum + us, 0),
    parentUsACall: usACall[0] ?? 0,
    parentLoopUsACall: (loopMs * 1_000) / result.whole,
    idlePercent: (idle * 100) / (ms * cpus().length),
  };
}

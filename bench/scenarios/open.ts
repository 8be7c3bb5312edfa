// Ordinary load: streamed calls at random times whose events arrive in one read. CPU by thread, time to the first token, system calls.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { atMost, type Bench, expectWhole, type Row, startClient, startSubjects, stopSubjects, told } from "../bench.ts";
import { median, medianRatio, threadCpuUs } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { requestText } from "../workload.ts";
import { freshen } from "./peers.ts";

/** With the role, the finish and `[DONE]` the client gets 19 events. */
const CHUNKS = 16;
const RATES = [500, 100] as const;
const SYSTEM_CALLS_RATE = 200;
const SUBJECTS = ["bare", "bifrost-core", "tollgate", "base"] as const;
/** A figure depends on how much of a program is compiled, so each gets as many calls as the others. */
const WARM_CALLS = 20_000;
const WARM_CALLS_QUICK = 4_000;
const WARM_MS_MAX = 300_000;
const BARS = { 500: { bare: 2.8, base: 0.6, storageUs: 70 }, 100: { bare: 3, base: 0.6, storageUs: 70 } } as const;
const FIRST_TOKEN_MS = 0.3;

/** Microseconds of CPU per call, and milliseconds to the first token. */
interface Figures {
  readonly all: number;
  readonly main: number;
  /** The busiest of the other threads: in the gateway, the one that writes to the disk. */
  readonly second: number;
  readonly firstTokenMs: number;
}
type Rounds = Map<SubjectName, Figures[]>;

async function warmUp(client: Client, subject: Subject, calls: number): Promise<void> {
  const request = requestText(subject, { stream: true, chunks: CHUNKS });
  const job = { kind: "closed", port: subject.port, request, connections: 32, ms: WARM_MS_MAX } as const;
  expectWhole(subject, await client.run({ ...job, count: calls }));
}

async function openLoop(client: Client, subject: Subject, load: { perSecond: number; ms: number }): Promise<Figures> {
  const request = requestText(subject, { stream: true, chunks: CHUNKS });
  await freshen(32)(client, subject);
  const pid = subject.pid ?? process.pid;
  const before = threadCpuUs(pid);
  const result = await client.run({ kind: "open", port: subject.port, request, ...load });
  expectWhole(subject, result);
  const used = [...threadCpuUs(pid)].map(([id, us]) => ({ id, us: (us - (before.get(id) ?? 0)) / result.whole }));
  const others = used.filter(({ id }) => id !== pid).map(({ us }) => us);
  return {
    all: used.reduce((sum, { us }) => sum + us, 0),
    main: used.find(({ id }) => id === pid)?.us ?? Number.NaN,
    second: Math.max(0, ...others),
    firstTokenMs: result.firstToken?.p50 ?? Number.NaN,
  };
}

function rowsOf(name: string, rounds: Rounds, bars: (typeof BARS)[keyof typeof BARS]): Row[] {
  const column = (subject: SubjectName, figure: keyof Figures) => rounds.get(subject)?.map((round) => round[figure]);
  const over = (subject: SubjectName) =>
    median((column(subject, "firstTokenMs") ?? []).map((ms, n) => ms - (column("bare", "firstTokenMs")?.[n] ?? NaN)));
  const rows = [...rounds.keys()].map((subject) => {
    const us = (figure: keyof Figures) => median(column(subject, figure) ?? []).toFixed(0);
    const value = `${us("all")} us (${us("main")} main thread, ${us("second")} next), ${over(subject).toFixed(2)} ms`;
    return told(name, `${subject}: CPU per call, first token p50 over the bare proxy's`, value);
  });
  const ours = column("tollgate", "all");
  if (ours === undefined) return rows;
  const ratio = (subject: SubjectName) => medianRatio(ours, column(subject, "all"));
  rows.push(atMost(name, "CPU over the bare proxy's", ratio("bare"), bars.bare, "x"));
  if (rounds.has("base")) rows.push(atMost(name, "CPU over the base's", ratio("base"), bars.base, "x"));
  // The core keeps no spend, so a bar for a gateway that does says nothing about it.
  if (rounds.has("bifrost-core"))
    rows.push(told(name, "CPU over bifrost-core's", `${ratio("bifrost-core").toFixed(2)}x`));
  rows.push(atMost(name, "storage thread per call", median(column("tollgate", "second") ?? []), bars.storageUs, " us"));
  return [...rows, atMost(name, "first token p50 over the bare proxy's", over("tollgate"), FIRST_TOKEN_MS, " ms")];
}

/** Counts the main thread's system calls with strace; the loop is slower meanwhile, so nothing else is measured. */
async function systemCalls(bench: Bench, client: Client, subject: Subject): Promise<Map<string, number>> {
  const file = join(bench.folder, "system-calls");
  const request = requestText(subject, { stream: true, chunks: CHUNKS });
  await freshen(32)(client, subject);
  const tracer = spawn("strace", ["-c", "-p", String(subject.pid), "-o", file], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  // It says on its standard error that it is attached.
  await once(tracer.stderr, "data");
  tracer.stderr.resume();
  const job = { kind: "open", port: subject.port, request, perSecond: SYSTEM_CALLS_RATE } as const;
  const result = await client.run({ ...job, ms: bench.quick ? 2_000 : 5_000 });
  tracer.kill("SIGINT");
  await once(tracer, "exit");
  expectWhole(subject, result);
  const lines = readFileSync(file, "utf8").matchAll(/^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$/gm);
  return new Map([...lines].map(([, calls, name = ""]) => [name, Number(calls) / result.whole]));
}

async function systemCallRows(bench: Bench, client: Client, subjects: Iterable<Subject>): Promise<Row[]> {
  const name = `open loop, ${SYSTEM_CALLS_RATE}/s`;
  if (spawnSync("strace", ["-V"]).status !== 0) {
    bench.say("  without system calls: strace is not installed");
    return [];
  }
  const rows: Row[] = [];
  for (const subject of subjects) {
    if (subject.name === "bifrost-core") continue;
    const calls = await systemCalls(bench, client, subject);
    const total = calls.get("total") ?? Number.NaN;
    const most = [...calls].filter(([call, n]) => call !== "total" && n >= 0.1);
    const value = `${total.toFixed(1)} (${most.map(([call, n]) => `${n.toFixed(1)} ${call}`).join(", ")})`;
    const measure = `${subject.name}: system calls of the main thread per call`;
    rows.push(
      subject.name === "tollgate" ? { ...atMost(name, measure, total, 8, ""), value } : told(name, measure, value),
    );
  }
  return rows;
}

export async function open(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, SUBJECTS);
  for (const subject of subjects.values()) await warmUp(client, subject, bench.quick ? WARM_CALLS_QUICK : WARM_CALLS);
  const rows: Row[] = [];
  for (const perSecond of RATES) {
    const name = `open loop, ${perSecond}/s, 19 events in one read`;
    const rounds: Rounds = new Map([...subjects.keys()].map((subject) => [subject, []]));
    for (let round = 1; round <= bench.rounds; round++) {
      for (const subject of subjects.values()) {
        const figures = await openLoop(client, subject, { perSecond, ms: bench.quick ? 3_000 : 10_000 });
        rounds.get(subject.name)?.push(figures);
        const { all, main, second, firstTokenMs } = figures;
        const us = `${all.toFixed(0)} us (${main.toFixed(0)} main, ${second.toFixed(0)} next)`;
        bench.say(`  ${name}, round ${round}: ${subject.name} ${us}, first token ${firstTokenMs.toFixed(2)} ms`);
      }
    }
    rows.push(...rowsOf(name, rounds, BARS[perSecond]));
  }
  rows.push(...(await systemCallRows(bench, client, subjects.values())));
  await stopSubjects(bench, subjects);
  return rows;
}

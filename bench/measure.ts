// Measures processes and disks: CPU, memory, and the time of a durable write.
import { closeSync, existsSync, fdatasync, openSync, readdirSync, readFileSync, rmSync, write } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

// Linux counts in clock ticks of 10 ms on every architecture we run on (sysconf(_SC_CLK_TCK) is 100).
const TICK_MS = 10;

/** A process's CPU milliseconds: user and system, all threads (proc(5), fields 14 and 15 of stat). */
export function cpuMs(pid: number): number {
  return cpuMsIn(`/proc/${pid}/stat`);
}

/** The same for its event loop's thread only. */
export function loopCpuMs(pid: number): number {
  return cpuMsIn(`/proc/${pid}/task/${pid}/stat`);
}

/** CPU microseconds by thread id; the process's id is its main thread's. Its nanoseconds are exact, unlike the ticks of stat. */
export function threadCpuUs(pid: number): Map<number, number> {
  const threads = readdirSync(`/proc/${pid}/task`).map(Number);
  const us = (id: number) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]) / 1000;
  return new Map(threads.map((id) => [id, us(id)]));
}

function cpuMsIn(path: string): number {
  const stat = readFileSync(path, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** A process's resident memory in MB. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024;
}

/** A process's open descriptors. */
export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Tracks the highest resident memory until `stop`. */
export function watchResident(pid: number): { stop(): number } {
  let mostMb = residentMb(pid);
  const look = () => {
    mostMb = Math.max(mostMb, residentMb(pid));
  };
  const timer = setInterval(look, 200);
  return {
    stop() {
      clearInterval(timer);
      look();
      return mostMb;
    },
  };
}

/** What the probe that is preloaded into a process writes to `file` at a signal. */
export async function askProbe(pid: number, file: string, signal: NodeJS.Signals = "SIGUSR2"): Promise<string> {
  rmSync(file, { force: true });
  process.kill(pid, signal);
  while (!existsSync(file)) await sleep(5);
  return readFileSync(file, "utf8");
}

/** Times pairs of "append 4 KB, fdatasync" in milliseconds, one pair every `everyMs`, until `stop`. */
export async function timeSyncPairs(folder: string, everyMs: number, stop: AbortSignal): Promise<number[]> {
  const path = join(folder, "fdatasync.probe");
  const file = openSync(path, "a");
  const page = Buffer.alloc(4096, 1);
  const append = promisify(write);
  const sync = promisify(fdatasync);
  const pairs: number[] = [];
  try {
    while (!stop.aborted) {
      const startedAt = performance.now();
      for (let n = 0; n < 2; n++) {
        await append(file, page, 0, page.length, null);
        await sync(file);
      }
      pairs.push(performance.now() - startedAt);
      await sleep(everyMs);
    }
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
  return pairs;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

/** The median over rounds of one subject's cost divided by another's. */
export function medianRatio(of: readonly number[] | undefined, over: readonly number[] | undefined): number {
  return median((of ?? []).map((cost, round) => cost / (over?.[round] ?? Number.NaN)));
}

/** Figures by name, round by round. */
export class Samples<Name extends string = string> {
  readonly #of = new Map<Name, number[]>();

  add(name: Name, figure: number): void {
    const figures = this.#of.get(name);
    if (figures === undefined) this.#of.set(name, [figure]);
    else figures.push(figure);
  }

  has(name: Name): boolean {
    return this.#of.has(name);
  }

  names(): readonly Name[] {
    return [...this.#of.keys()];
  }

  of(name: Name): readonly number[] {
    return this.#of.get(name) ?? [];
  }

  median(name: Name): number {
    return median(this.of(name));
  }

  /** The median of one name's figures over another's. */
  ratio(name: Name, over: Name): number {
    return medianRatio(this.of(name), this.of(over));
  }

  /** The median of what one name's figures have more than another's. */
  above(name: Name, base: Name): number {
    return median(this.of(name).map((figure, round) => figure - (this.of(base)[round] ?? Number.NaN)));
  }
}

export function describeMachine(): string {
  const cores = cpus();
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  return `${cores[0]?.model ?? "unknown CPU"}, ${cores.length} cores, ${memoryGb} GB, Linux ${release()}, Node ${process.version}`;
}

/** CPU milliseconds of this process and its ended children. */
function ownCpuMs(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return [11, 12, 13, 14].reduce((sum, n) => sum + Number(fields[n]), 0) * TICK_MS;
}

/** CPU milliseconds of the whole machine, steal time included. */
function machineCpuMs(): number {
  const fields = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "").split(/\s+/).map(Number);
  // user, nice, system, irq, softirq, steal; not idle or iowait (proc(5)).
  return [1, 2, 3, 6, 7, 8].reduce((sum, n) => sum + (fields[n] ?? 0), 0) * TICK_MS;
}

/**
 * Starts watching; the returned function gives the share of a core that foreign processes used, once everything that we started has ended.
 * Figures of a run with much foreign work are unreliable.
 */
export function foreignWork(): () => number {
  const startedAt = performance.now();
  const before = machineCpuMs() - ownCpuMs();
  return () => Math.max(0, (machineCpuMs() - ownCpuMs() - before) / (performance.now() - startedAt));
}

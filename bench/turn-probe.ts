// Loaded into a gateway that is measured: at SIGUSR2 it says how long the longest turns of its event loop have been since it was last asked.
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";

const { TURNS_FOLDER = ".", TURNS_IN = "" } = process.env;
const file = join(TURNS_FOLDER, String(process.pid));
/** Turns with more CPU than this are reported with their stacks, if `TURNS_IN=1`, which slows everything down. */
const LONG_MS = 2;

/** What the loop did from one look at its timers to the next: sleep is not in it, and of `cpuMs` nothing that other programs took either. */
interface Turn {
  readonly endedMs: number;
  readonly busyMs: number;
  readonly cpuMs: number;
}

interface Profile {
  readonly startTime: number;
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
  readonly nodes: readonly {
    readonly id: number;
    readonly children?: readonly number[];
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
}

let turns: Turn[] = [];

function watch(): void {
  let [wallMs, idleMs, cpu] = [performance.now(), performance.nodeTiming.idleTime, process.threadCpuUsage()];
  // Not kept alive by it, the loop does not go around for its sake: it is called once in each turn that comes anyway.
  const look = () => {
    const [nowMs, idleNowMs, cpuNow] = [performance.now(), performance.nodeTiming.idleTime, process.threadCpuUsage()];
    const busyMs = nowMs - wallMs - (idleNowMs - idleMs);
    // The system counts what a thread has used once it sleeps, and every four milliseconds where it does not: no turn has had more than it took.
    const cpuMs = Math.min(busyMs, (cpuNow.user + cpuNow.system - cpu.user - cpu.system) / 1_000);
    if (busyMs > 1) turns.push({ endedMs: nowMs, busyMs, cpuMs });
    [wallMs, idleMs, cpu] = [nowMs, idleNowMs, cpuNow];
    setImmediate(look).unref();
  };
  setImmediate(look).unref();
}

/** The stacks of long turns by the time that they took of them, from the outermost file of ours inwards. */
function stacksOf({ startTime, samples, timeDeltas, nodes }: Profile, long: readonly Turn[]): string[] {
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const nowUs = Number(process.hrtime.bigint() / 1_000n);
  const zeroUs = nowUs - performance.now() * 1_000;
  const spans = long.map(
    ({ endedMs, busyMs }) => [zeroUs + (endedMs - busyMs) * 1_000, zeroUs + endedMs * 1_000] as const,
  );
  const took = new Map<string, number>();
  let atUs = startTime;
  for (const [n, sample] of samples.entries()) {
    const delta = timeDeltas[n] ?? 0;
    atUs += delta;
    if (!spans.some(([from, to]) => atUs >= from && atUs <= to)) continue;
    const stack: string[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      const { functionName, url, lineNumber } = frames.get(id) ?? { functionName: "?", url: "", lineNumber: 0 };
      const place = url.replace(/^.*\/(src|node_modules)\//, "$1/");
      stack.push(`${functionName || "-"} ${place}:${lineNumber + 1}`);
    }
    const ours = stack.filter((frame) => !frame.includes(" node:") && !frame.startsWith("(root)")).toReversed();
    const name = ours.slice(0, 9).join(" > ");
    took.set(name, (took.get(name) ?? 0) + delta / 1_000);
  }
  return [...took]
    .sort(([, a], [, b]) => b - a)
    .slice(0, 40)
    .map(([name, ms]) => `${ms.toFixed(1)} ms ${name}`);
}

if (isMainThread) {
  watch();
  const session = TURNS_IN === "" ? null : new Session();
  const start = () => {
    session?.post("Profiler.setSamplingInterval", { interval: 200 });
    session?.post("Profiler.start");
  };
  session?.connect();
  session?.post("Profiler.enable");
  start();
  process.on("SIGUSR2", () => {
    const told = turns;
    turns = [];
    const long = told.filter(({ cpuMs }) => cpuMs > LONG_MS);
    session?.post("Profiler.stop", (_error, result) => {
      console.error([`${long.length} long turns`, ...stacksOf(result.profile as Profile, long)].join("\n"));
      start();
    });
    const most = (of: (turn: Turn) => number) => told.reduce((least, turn) => Math.max(least, of(turn)), 0);
    writeFileSync(`${file}.part`, `${most(({ busyMs }) => busyMs)} ${most(({ cpuMs }) => cpuMs)} ${long.length}`);
    renameSync(`${file}.part`, file);
    turns = [];
  });
}

// 9,000 open streams in one process with a chunk a second each: whether any is lost, and their memory.
import { readFileSync } from "node:fs";
import { atMost, type Bench, type Row, startClient, startSubjects, stopSubjects, told } from "../bench.ts";
import { residentMb, watchResident } from "../measure.ts";
import type { Subject } from "../subjects.ts";
import { eventsOf, requestText } from "../workload.ts";

const STREAMS = 9_000;
const MAX_MB = 420;
const HTTP2_MAX_MB = 300;
// Each stream uses two of the gateway's descriptors, and the gateway has some others.
const DESCRIPTORS = 2 * STREAMS + 300;

/** The process limit of descriptors; Node raises its own soft limit to it at start. */
function descriptorsMax(): number {
  const line = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return line?.[1] === "unlimited" ? Number.POSITIVE_INFINITY : Number(line?.[1] ?? 0);
}

async function measure(bench: Bench, subject: Subject, name: string): Promise<Row[]> {
  const client = await startClient(bench);
  const chunks = bench.quick ? 9 : 24;
  const pid = subject.pid ?? process.pid;
  const idleMb = residentMb(pid);
  const watch = watchResident(pid);
  const result = await client.run({
    kind: "streams",
    port: subject.port,
    request: requestText(subject, { stream: true, chunks, perSecond: 1 }),
    streams: STREAMS,
    rampMs: bench.quick ? 5_000 : 9_000,
    events: eventsOf(chunks),
  });
  const mostMb = watch.stop();
  const lost = result.failed === 0 ? "0" : `${result.failed} ${JSON.stringify(result.statuses)}`;
  bench.say(`  ${name}: ${subject.name} ${result.openMax} open at once, ${lost} lost, ${mostMb.toFixed(0)} MB`);
  const open = told(
    name,
    `${subject.name}: open at once`,
    `${result.openMax}, ${idleMb.toFixed(0)} MB before the first`,
  );
  if (subject.name !== "tollgate") return [open, told(name, `${subject.name}: resident`, `${mostMb.toFixed(0)} MB`)];
  const kept = result.failed === 0 && result.openMax === STREAMS;
  return [
    open,
    { scenario: name, measure: "streams lost", value: lost, bar: "0", verdict: kept ? "pass" : "miss" },
    atMost(name, "resident", mostMb, bench.wire === "http2" ? HTTP2_MAX_MB : MAX_MB, " MB"),
  ];
}

export async function many(bench: Bench): Promise<Row[]> {
  const name = `${STREAMS} streams, 1 chunk/s`;
  if (descriptorsMax() < DESCRIPTORS) {
    return [told(name, "not run", `needs ${DESCRIPTORS} descriptors (ulimit -Hn), has ${descriptorsMax()}`)];
  }
  const rows: Row[] = [];
  for (const subject of ["bare", "base", "tollgate"] as const) {
    if (bench.quick && subject === "bare") continue;
    // One subject at a time, because each needs a core and much memory.
    const subjects = await startSubjects(bench, [subject]);
    for (const started of subjects.values()) rows.push(...(await measure(bench, started, name)));
    await stopSubjects(bench, subjects);
  }
  return rows;
}

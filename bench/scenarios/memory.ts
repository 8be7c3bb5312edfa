// The process' memory under 64 calls and 256 streams, minute by minute, and whether it keeps growing.
import { atMost, type Bench, expectWhole, type Row, startClient, startSubjects, stopSubjects, told } from "../bench.ts";
import { median, residentMb, watchResident } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { eventsOf, requestText, searchText } from "../workload.ts";

const STREAMS = 256;
const PER_SECOND = 20;
const CALLS = 48;
const ACTIONS = 16;
const MAX_MB = 220;
/** The last third of the minutes over the middle third; by then everything is optimized. */
const GROWTH_MAX = 1.05;

/** Runs both loads for a minute; returns the highest resident memory. */
async function minute(clients: readonly Client[], subject: Subject, seconds: number): Promise<number> {
  const { port, pid } = subject;
  const watch = watchResident(pid ?? process.pid);
  const chunks = seconds * PER_SECOND;
  const loop = (request: string, connections: number) =>
    ({ kind: "closed", port, request, connections, ms: seconds * 1_000 }) as const;
  const jobs = [
    loop(requestText(subject, { stream: false }), CALLS),
    loop(hasActions(subject.name) ? searchText(subject) : requestText(subject, { stream: false }), ACTIONS),
    {
      kind: "streams",
      port,
      request: requestText(subject, { stream: true, chunks, perSecond: PER_SECOND }),
      streams: STREAMS,
      rampMs: 500,
      events: eventsOf(chunks),
    } as const,
  ];
  const results = await Promise.all(jobs.map((job, at) => (clients[at] as Client).run(job)));
  for (const result of results) expectWhole(subject, result);
  return watch.stop();
}

function hasActions(name: SubjectName): boolean {
  return name === "tollgate" || name === "base";
}

/** A row for each subject, and two bars for ours; a round is a minute, so `--rounds=60` is an hour. */
export async function memory(bench: Bench): Promise<Row[]> {
  const name = `${CALLS + ACTIONS} calls and ${STREAMS} streams at once`;
  const seconds = bench.quick ? 10 : 60;
  const rows: Row[] = [];
  for (const peer of ["bare", "tollgate", "base"] as const) {
    // One subject at a time.
    const subjects = await startSubjects(bench, [peer]);
    for (const subject of subjects.values()) {
      const clients = await Promise.all([startClient(bench), startClient(bench), startClient(bench)]);
      const idleMb = residentMb(subject.pid ?? process.pid);
      const most: number[] = [];
      for (let round = 1; round <= bench.rounds; round++) {
        most.push(await minute(clients, subject, seconds));
        bench.say(`  ${name}, round ${round}: ${peer} ${most.at(-1)?.toFixed(0)} MB`);
      }
      rows.push(told(name, `${peer}: resident`, `${Math.max(...most).toFixed(0)} MB, ${idleMb.toFixed(0)} MB idle`));
      if (peer === "tollgate") rows.push(...bars(name, most));
    }
    await stopSubjects(bench, subjects);
  }
  return rows;
}

function bars(name: string, most: readonly number[]): Row[] {
  const resident = atMost(name, "resident", Math.max(...most), MAX_MB, " MB");
  const third = Math.floor(most.length / 3);
  // With fewer minutes the code is still being optimized.
  if (third < 2) return [resident];
  const growth = median(most.slice(-third)) / median(most.slice(-2 * third, -third));
  return [resident, atMost(name, `${third} rounds over the ${third} before them`, growth, GROWTH_MAX, "x")];
}

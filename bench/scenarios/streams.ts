// What a chunk costs in CPU when 256 streams flow at 100 chunks a second each.
import {
  atMost,
  type Bench,
  expectWhole,
  type Row,
  startClient,
  startSubjects,
  stopSubjects,
  told,
  withCpu,
} from "../bench.ts";
import { median, medianRatio } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { eventsOf, requestText } from "../workload.ts";

const NAME = "256 streams, 100 chunks/s";
const STREAMS = 256;
const PER_SECOND = 100;

export interface Flow {
  readonly name: string;
  readonly subjects: readonly SubjectName[];
  readonly streams: number;
  /** Chunks, of each stream. */
  readonly perSecond: number;
  readonly chunks: number;
  /** Before every round, not counted. */
  readonly before?: (client: Client, subject: Subject) => Promise<unknown>;
}

/** A row for every subject that could run, and the microseconds of CPU that a chunk cost each of them, round by round. */
export async function flow(
  bench: Bench,
  { name, subjects: names, streams, perSecond, chunks, before }: Flow,
): Promise<{ readonly rows: readonly Row[]; readonly costs: ReadonlyMap<SubjectName, readonly number[]> }> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, names);
  const gaps = new Map<SubjectName, number[]>();
  const costs = new Map<SubjectName, number[]>();
  for (let round = 0; round <= bench.rounds; round++) {
    for (const subject of subjects.values()) {
      const request = requestText(subject, { stream: true, chunks, perSecond });
      const job = { kind: "streams", port: subject.port, request, streams, rampMs: 200 } as const;
      await before?.(client, subject);
      const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, events: eventsOf(chunks) }));
      expectWhole(subject, result);
      const microseconds = (cpuMs * 1000) / result.events;
      bench.say(
        `  ${name}, round ${round}: ${subject.name} ${microseconds.toFixed(2)} us CPU a chunk, ${result.seconds.toFixed(2)} s`,
      );
      if (round === 0) continue;
      costs.set(subject.name, [...(costs.get(subject.name) ?? []), microseconds]);
      gaps.set(subject.name, [...(gaps.get(subject.name) ?? []), result.gap?.p99 ?? Number.NaN]);
    }
  }
  await stopSubjects(bench, subjects);
  const rows = [...costs].map(([subject, cost]) =>
    told(
      name,
      `${subject}: CPU per chunk, gap p99`,
      `${median(cost).toFixed(1)} us, ${median(gaps.get(subject) ?? []).toFixed(1)} ms`,
    ),
  );
  return { rows, costs };
}

export async function streams(bench: Bench): Promise<Row[]> {
  const { rows, costs } = await flow(bench, {
    name: NAME,
    subjects: ["nginx", "bare", "tollgate", "base"],
    streams: STREAMS,
    perSecond: PER_SECOND,
    chunks: bench.quick ? 200 : 400,
  });
  const ours = costs.get("tollgate");
  if (ours === undefined) return [...rows];
  return [...rows, atMost(NAME, "CPU over the bare proxy's", medianRatio(ours, costs.get("bare")), 1.2, "x")];
}

// What a chunk costs in CPU when 256 streams flow at 100 chunks a second each.
import { atMost, type Bench, expectWhole, type Row, told, withCpu, withSubjects } from "../bench.ts";
import { Samples } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { eventsOf, requestText } from "../workload.ts";
import type { Costs } from "./closed-loop.ts";

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

/** A row for every subject that could run, and each one's cost per chunk. */
export function flow(bench: Bench, { name, subjects, streams, perSecond, chunks, before }: Flow): Promise<Costs> {
  return withSubjects(bench, subjects, async (started, client) => {
    const gaps = new Samples<SubjectName>();
    const costs = new Samples<SubjectName>();
    for (let round = 0; round <= bench.rounds; round++) {
      for (const subject of started.values()) {
        const request = requestText(subject, { stream: true, chunks, perSecond });
        const job = { kind: "streams", port: subject.port, request, streams, rampMs: 200 } as const;
        await before?.(client, subject);
        const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, events: eventsOf(chunks) }));
        expectWhole(subject, result);
        const microseconds = (cpuMs * 1000) / result.events;
        const figures = `${microseconds.toFixed(2)} us CPU a chunk, ${result.seconds.toFixed(2)} s`;
        bench.say(`  ${name}, round ${round}: ${subject.name} ${figures}`);
        if (round === 0) continue;
        costs.add(subject.name, microseconds);
        gaps.add(subject.name, result.gap?.p99 ?? Number.NaN);
      }
    }
    const rows = costs.names().map((subject) => {
      const value = `${costs.median(subject).toFixed(1)} us, ${gaps.median(subject).toFixed(1)} ms`;
      return told(name, `${subject}: CPU per chunk, gap p99`, value);
    });
    return { rows, costs };
  });
}

export async function streams(bench: Bench): Promise<Row[]> {
  const { rows, costs } = await flow(bench, {
    name: NAME,
    subjects: ["nginx", "bare", "tollgate", "base"],
    streams: STREAMS,
    perSecond: PER_SECOND,
    chunks: bench.quick ? 200 : 400,
  });
  if (!costs.has("tollgate")) return [...rows];
  return [...rows, atMost(NAME, "CPU over the bare proxy's", costs.ratio("tollgate", "bare"), 1.2, "x")];
}

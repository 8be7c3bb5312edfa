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
import type { SubjectName } from "../subjects.ts";
import { eventsOf, requestText } from "../workload.ts";

const NAME = "256 streams, 100 chunks/s";
const STREAMS = 256;
const PER_SECOND = 100;

export async function streams(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, ["nginx", "bare", "tollgate", "base"]);
  const gaps = new Map<SubjectName, number[]>();
  const costs = new Map<SubjectName, number[]>();
  const chunks = bench.quick ? 200 : 400;
  for (let round = 0; round <= bench.rounds; round++) {
    for (const subject of subjects.values()) {
      const request = requestText(subject, { stream: true, chunks, perSecond: PER_SECOND });
      const job = { kind: "streams", port: subject.port, request, streams: STREAMS, rampMs: 200 } as const;
      const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, events: eventsOf(chunks) }));
      expectWhole(subject, result);
      const microseconds = (cpuMs * 1000) / result.events;
      bench.say(
        `  ${NAME}, round ${round}: ${subject.name} ${microseconds.toFixed(2)} us CPU a chunk, ${result.seconds.toFixed(2)} s`,
      );
      if (round === 0) continue;
      costs.set(subject.name, [...(costs.get(subject.name) ?? []), microseconds]);
      gaps.set(subject.name, [...(gaps.get(subject.name) ?? []), result.gap?.p99 ?? Number.NaN]);
    }
  }
  await stopSubjects(bench, subjects);
  const rows = [...costs].map(([name, cost]) =>
    told(
      NAME,
      `${name}: CPU per chunk, gap p99`,
      `${median(cost).toFixed(1)} us, ${median(gaps.get(name) ?? []).toFixed(1)} ms`,
    ),
  );
  const ours = costs.get("tollgate");
  if (ours === undefined) return rows;
  return [...rows, atMost(NAME, "CPU over the bare proxy's", medianRatio(ours, costs.get("bare")), 1.25, "x")];
}

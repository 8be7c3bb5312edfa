// What a small call of an action costs in CPU when 64 clients are always waiting for one.
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
import { median } from "../measure.ts";
import type { SubjectName } from "../subjects.ts";
import { searchText } from "../workload.ts";
import { medianRatio } from "./unary.ts";

const NAME = "action, 64 at once";
const CONNECTIONS = 64;

export async function actions(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, ["bare", "tollgate", "base"]);
  const costs = new Map<SubjectName, number[]>();
  const rates = new Map<SubjectName, number[]>();
  for (let round = 0; round <= bench.rounds; round++) {
    for (const subject of subjects.values()) {
      const ms = round === 0 ? (bench.quick ? 3_000 : 6_000) : bench.quick ? 1_000 : 2_500;
      const job = { kind: "closed", port: subject.port, request: searchText(subject) } as const;
      const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, connections: CONNECTIONS, ms }));
      expectWhole(subject, result);
      const microseconds = (cpuMs * 1000) / result.whole;
      const perSecond = result.whole / result.seconds;
      bench.say(
        `  ${NAME}, round ${round}: ${subject.name} ${microseconds.toFixed(1)} us CPU, ${perSecond.toFixed(0)}/s`,
      );
      if (round === 0) continue;
      costs.set(subject.name, [...(costs.get(subject.name) ?? []), microseconds]);
      rates.set(subject.name, [...(rates.get(subject.name) ?? []), perSecond]);
    }
  }
  await stopSubjects(bench, subjects);
  const rows = [...subjects.keys()].map((name) => {
    const value = `${median(costs.get(name) ?? []).toFixed(0)} us (${median(rates.get(name) ?? []).toFixed(0)}/s)`;
    return told(NAME, `${name}: CPU per call`, value);
  });
  const ours = costs.get("tollgate");
  if (ours === undefined) return rows;
  return [...rows, atMost(NAME, "CPU over the bare proxy's", medianRatio(ours, costs.get("bare")), 1.8, "x")];
}

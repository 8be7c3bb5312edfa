// What a small call costs in CPU, and how many a second there are, when 64 clients are always waiting for one.
import {
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
import type { Subject, SubjectName } from "../subjects.ts";

const CONNECTIONS = 64;

export interface ClosedLoop {
  readonly name: string;
  readonly subjects: readonly SubjectName[];
  /** What is paid for, as the table says it: `request`, `call`. */
  readonly each: string;
  readonly request: (subject: Subject) => string;
}

/** A row for every subject that could run, and the microseconds of CPU that a call cost each of them, round by round. */
export async function closedLoop(
  bench: Bench,
  { name, subjects: names, each, request }: ClosedLoop,
): Promise<{ readonly rows: readonly Row[]; readonly costs: ReadonlyMap<SubjectName, readonly number[]> }> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, names);
  const costs = new Map<SubjectName, number[]>();
  const rates = new Map<SubjectName, number[]>();
  for (let round = 0; round <= bench.rounds; round++) {
    for (const subject of subjects.values()) {
      // Round 0 warms up and is not counted. It is long, because a large program takes long to be compiled.
      const ms = round === 0 ? (bench.quick ? 3_000 : 6_000) : bench.quick ? 1_000 : 2_500;
      const job = { kind: "closed", port: subject.port, request: request(subject) } as const;
      const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, connections: CONNECTIONS, ms }));
      expectWhole(subject, result);
      const microseconds = (cpuMs * 1000) / result.whole;
      const perSecond = result.whole / result.seconds;
      bench.say(
        `  ${name}, round ${round}: ${subject.name} ${microseconds.toFixed(1)} us CPU, ${perSecond.toFixed(0)}/s`,
      );
      if (round === 0) continue;
      costs.set(subject.name, [...(costs.get(subject.name) ?? []), microseconds]);
      rates.set(subject.name, [...(rates.get(subject.name) ?? []), perSecond]);
    }
  }
  await stopSubjects(bench, subjects);
  const rows = [...subjects.keys()].map((subject) => {
    const cost = `${median(costs.get(subject) ?? []).toFixed(0)} us`;
    return told(name, `${subject}: CPU per ${each}`, `${cost} (${median(rates.get(subject) ?? []).toFixed(0)}/s)`);
  });
  return { rows, costs };
}

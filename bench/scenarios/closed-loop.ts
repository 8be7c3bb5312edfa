// The CPU and rate of small calls when 64 clients always wait for one.
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
import type { ClosedLoop as ClosedLoopJob } from "../load/jobs.ts";
import { median } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";

const CONNECTIONS = 64;
/** A program is optimized after this many calls, however long they take. */
const WARM_CALLS = 15_000;
const WARM_MS_MAX = 12_000;

export interface ClosedLoop {
  readonly name: string;
  readonly subjects: readonly SubjectName[];
  /** The unit in the table: `request`, `call`. */
  readonly each: string;
  readonly request: (subject: Subject) => string;
  /** Runs before every counted round. */
  readonly before?: (client: Client, subject: Subject) => Promise<unknown>;
}

/** A row for every subject that could run, and each one's microseconds of CPU per call, round by round. */
export async function closedLoop(
  bench: Bench,
  { name, subjects: names, each, request, before }: ClosedLoop,
): Promise<{ readonly rows: readonly Row[]; readonly costs: ReadonlyMap<SubjectName, readonly number[]> }> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, names);
  const costs = new Map<SubjectName, number[]>();
  const rates = new Map<SubjectName, number[]>();
  for (let round = 0; round <= bench.rounds; round++) {
    for (const subject of subjects.values()) {
      const { port, tls = false } = subject;
      const job = { kind: "closed", port, tls, request: request(subject), connections: CONNECTIONS } as const;
      if (round === 0) await warmUp(client, subject, job, bench.quick ? 3_000 : 6_000);
      else await before?.(client, subject);
      const ms = bench.quick ? 1_000 : 2_500;
      const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, ms }));
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

/** Sends calls until a subject is optimized. */
export async function warmUp(
  client: Client,
  subject: Subject,
  job: Omit<ClosedLoopJob, "ms">,
  ms: number,
): Promise<void> {
  const until = performance.now() + WARM_MS_MAX;
  let calls = 0;
  do {
    const result = await client.run({ ...job, ms });
    expectWhole(subject, result);
    calls += result.whole;
  } while (calls < WARM_CALLS && performance.now() < until);
}

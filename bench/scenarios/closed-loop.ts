// The CPU and rate of small calls when 64 clients always wait for one.
import { type Bench, expectWhole, type Row, told, withCpu, withSubjects } from "../bench.ts";
import type { ClosedLoop as ClosedLoopJob } from "../load/jobs.ts";
import { Samples } from "../measure.ts";
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

export interface Costs {
  readonly rows: readonly Row[];
  /** Microseconds of CPU per unit. */
  readonly costs: Samples<SubjectName>;
}

/** A row for every subject that could run, and each one's cost per call. */
export function closedLoop(bench: Bench, { name, subjects, each, request, before }: ClosedLoop): Promise<Costs> {
  return withSubjects(bench, subjects, async (started, client) => {
    const costs = new Samples<SubjectName>();
    const rates = new Samples<SubjectName>();
    for (let round = 0; round <= bench.rounds; round++) {
      for (const subject of started.values()) {
        const { port, tls = false } = subject;
        const job = { kind: "closed", port, tls, request: request(subject), connections: CONNECTIONS } as const;
        if (round === 0) await warmUp(client, subject, job, bench.quick ? 3_000 : 6_000);
        else await before?.(client, subject);
        const ms = bench.quick ? 1_000 : 2_500;
        const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, ms }));
        expectWhole(subject, result);
        const microseconds = (cpuMs * 1000) / result.whole;
        const perSecond = result.whole / result.seconds;
        const figures = `${microseconds.toFixed(1)} us CPU, ${perSecond.toFixed(0)}/s`;
        bench.say(`  ${name}, round ${round}: ${subject.name} ${figures}`);
        if (round === 0) continue;
        costs.add(subject.name, microseconds);
        rates.add(subject.name, perSecond);
      }
    }
    const rows = costs.names().map((subject) => {
      const value = `${costs.median(subject).toFixed(0)} us (${rates.median(subject).toFixed(0)}/s)`;
      return told(name, `${subject}: CPU per ${each}`, value);
    });
    return { rows, costs };
  });
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

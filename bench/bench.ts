// What every scenario gets, and what it returns.
import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import type { JobResult } from "./load/jobs.ts";
import { cpuMs } from "./measure.ts";
import { Client, type Processes } from "./processes.ts";
import { type Subject, type SubjectName, startSubject, Unavailable, type Wire } from "./subjects.ts";

export interface Row {
  readonly scenario: string;
  readonly measure: string;
  readonly value: string;
  readonly bar: string;
  /** `-`: a figure without a bar, or one that could not be measured. */
  readonly verdict: "pass" | "miss" | "-";
}

export interface Upstream {
  readonly port: number;
  readonly bigPort: number;
  readonly tlsPort: number;
  readonly http2Port: number;
  /** The certificate authority of its certificate. */
  readonly authorityFile: string;
  readonly keyFile: string;
}

export interface Bench {
  readonly processes: Processes;
  readonly upstream: Upstream;
  /** How subjects reach the upstream. */
  readonly wire: Wire;
  readonly folder: string;
  readonly quick: boolean;
  /** Save the counts as the baseline of later runs. */
  readonly keep: boolean;
  readonly rounds: number;
  /** A checkout to compare with. */
  readonly base: string | null;
  /** Null: all. */
  readonly only: ReadonlySet<string> | null;
  /** For `growth`: 1 is ten million accounts and a hundred million postings. */
  readonly scale: number;
  readonly say: (line: string) => void;
}

export type Scenario = (bench: Bench) => Promise<Row[]>;

const WIRES: Readonly<Record<Wire, string>> = { plain: "", tls: ", TLS", http2: ", HTTP/2" };

/** The scenario with the upstream behind another wire; its rows say so. */
export function over(wire: Wire, scenario: Scenario): Scenario {
  return async (bench) => {
    const rows = await scenario({ ...bench, wire });
    return rows.map((row) => ({ ...row, scenario: row.scenario + WIRES[wire] }));
  };
}

/** Starts a separate load generator. */
export async function startClient(bench: Bench): Promise<Client> {
  const { child } = await bench.processes.fork(new URL("./load/main.ts", import.meta.url));
  return new Client(child);
}

interface SubjectOptions {
  readonly upstreamPort?: number;
  readonly nodeFlags?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

type Subjects = ReadonlyMap<SubjectName, Subject>;

/** Runs `work` on the subjects that can run here, with a load generator, and stops the subjects. */
export async function withSubjects<T>(
  bench: Bench,
  names: readonly SubjectName[],
  work: (subjects: Subjects, client: Client) => Promise<T>,
  options: SubjectOptions = {},
): Promise<T> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, names, options);
  const result = await work(subjects, client);
  await stopSubjects(bench, subjects);
  return result;
}

/** The same for the gateway alone; no rows if it cannot run here. */
export async function withGateway(
  bench: Bench,
  work: (gateway: Subject, client: Client) => Promise<Row[]>,
  options: SubjectOptions = {},
): Promise<Row[]> {
  return withSubjects(
    bench,
    ["tollgate"],
    async (subjects, client) => {
      const gateway = subjects.get("tollgate");
      return gateway === undefined ? [] : work(gateway, client);
    },
    options,
  );
}

let grounds = 0;

/** Starts the requested subjects of `names` that can run here, and reports the others. */
export async function startSubjects(
  bench: Bench,
  names: readonly SubjectName[],
  options: SubjectOptions = {},
): Promise<Map<SubjectName, Subject>> {
  const subjects = new Map<SubjectName, Subject>();
  grounds += 1;
  const { port, tlsPort, http2Port, authorityFile, keyFile } = bench.upstream;
  const wirePort = { plain: port, tls: tlsPort, http2: http2Port }[bench.wire];
  const { upstreamPort = wirePort, nodeFlags = [], settings = {} } = options;
  const ground = {
    ...bench,
    plainPort: port,
    authorityFile,
    keyFile,
    upstreamPort,
    nodeFlags,
    settings,
    folder: join(bench.folder, String(grounds)),
  };
  for (const name of names) {
    if (name === "base" && bench.base === null) continue;
    if (bench.only !== null && !bench.only.has(name)) continue;
    try {
      subjects.set(name, await startSubject(name, ground));
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      bench.say(`  without ${name}: ${error.message}`);
    }
  }
  return subjects;
}

export async function stopSubjects(bench: Bench, subjects: Subjects): Promise<void> {
  const children = [...subjects.values()].flatMap(({ child, behind }) => [child, behind?.child ?? null]);
  await Promise.all(
    children.filter((child): child is ChildProcess => child !== null).map((c) => bench.processes.stop(c)),
  );
}

/** Runs `work` and measures the subject's CPU meanwhile. */
export async function withCpu(subject: Subject, work: () => Promise<JobResult>) {
  const pids = [subject.pid ?? process.pid, ...(subject.behind?.pid ? [subject.behind.pid] : [])];
  const used = () => pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const before = used();
  const result = await work();
  return { result, cpuMs: used() - before };
}

/** Throws where a subject dropped answers: a figure over failed work means nothing. */
export function expectWhole(subject: Subject, result: JobResult): void {
  if (result.failed === 0) return;
  throw new Error(
    `${subject.name}: ${result.failed} of ${result.failed + result.whole} failed ${JSON.stringify(result.statuses)}`,
  );
}

/** A row for a figure with an upper bar. */
export function atMost(scenario: string, measure: string, figure: number, most: number, unit: string): Row {
  const text = Number.isFinite(figure) ? `${figure.toFixed(2)}${unit}` : "not taken";
  const verdict = !Number.isFinite(figure) ? "-" : figure <= most ? "pass" : "miss";
  return { scenario, measure, value: text, bar: `<= ${most}${unit}`, verdict };
}

/** A row for a figure with a lower bar. */
export function atLeast(scenario: string, measure: string, figure: number, least: number, unit: string): Row {
  const text = Number.isFinite(figure) ? `${figure.toFixed(2)}${unit}` : "not taken";
  const verdict = !Number.isFinite(figure) ? "-" : figure >= least ? "pass" : "miss";
  return { scenario, measure, value: text, bar: `>= ${least}${unit}`, verdict };
}

export function told(scenario: string, measure: string, value: string): Row {
  return { scenario, measure, value, bar: "", verdict: "-" };
}

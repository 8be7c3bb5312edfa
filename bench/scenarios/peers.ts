// Other gateways beside ours, each with the settings that its documentation advises: the cost of a call, a chunk, a first token and an open
// stream. A peer that cannot take the load gets a lighter one, which ours gets too.
import { atMost, type Bench, expectWhole, type Row, startClient, told, withSubjects } from "../bench.ts";
import type { JobResult } from "../load/jobs.ts";
import { residentMb, Samples, watchResident } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { eventsOf, requestText } from "../workload.ts";
import { closedLoop, warmUp } from "./closed-loop.ts";
import { flow } from "./streams.ts";

const FLOORS = ["nginx", "haproxy", "bare"] as const;
/** It keeps the cost of calls in a provider's budget. */
const KEEPING_SPEND = ["litellm"] as const;
const OTHERS = ["bifrost-core", "portkey", ...KEEPING_SPEND] as const;
/** LiteLLM's one worker and Portkey's one process cannot serve 500 calls or 25,600 chunks a second. */
const SLOW: readonly SubjectName[] = ["litellm", "portkey"];
const QUICK_ENOUGH = OTHERS.filter((name) => !SLOW.includes(name));
const STREAMS_OPEN = 2_000;

/**
 * A few calls that may fail: the upstream closes connections idle for ten seconds, and Bifrost's core answers 502 to a call that meets a
 * closed one. The README says so; no round is lost for it.
 */
export function freshen(connections: number) {
  return (client: Client, subject: Subject) =>
    client.run({
      kind: "closed",
      port: subject.port,
      request: requestText(subject, { stream: false }),
      connections,
      ms: 100,
    });
}

/** At most the cost of each peer that could run. */
function below(name: string, costs: Samples<SubjectName>, others: readonly SubjectName[]): Row[] {
  return others
    .filter((other) => costs.has("tollgate") && costs.has(other))
    .map((other) => atMost(name, `CPU over ${other}'s`, costs.ratio("tollgate", other), 1, "x"));
}

/** At most half the cost of the cheapest peer that keeps spend, where one could run. */
function belowHalf(name: string, costs: Samples<SubjectName>): Row[] {
  const ran = KEEPING_SPEND.filter((other) => costs.has(other));
  const [cheapest] = ran.toSorted((one, other) => costs.median(one) - costs.median(other));
  if (!costs.has("tollgate") || cheapest === undefined) return [];
  const measure = `CPU over ${cheapest}'s, the cheapest that keeps spend`;
  return [atMost(name, measure, costs.ratio("tollgate", cheapest), 0.5, "x")];
}

export async function peersUnary(bench: Bench): Promise<Row[]> {
  const name = "peers: unary, 64 at once";
  const { rows, costs } = await closedLoop(bench, {
    name,
    subjects: [...FLOORS, ...OTHERS, "tollgate"],
    each: "call",
    request: (subject) => requestText(subject, { stream: false }),
    before: freshen(64),
  });
  return [...rows, ...below(name, costs, OTHERS), ...belowHalf(name, costs)];
}

export async function peersStreams(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  const flows = [
    { streams: 256, perSecond: 100, chunks: 200, others: [...FLOORS, ...QUICK_ENOUGH] },
    { streams: 32, perSecond: 10, chunks: 20, others: ["bare", ...SLOW] as const },
  ];
  for (const { others, ...load } of flows) {
    const name = `peers: ${load.streams} streams, ${load.perSecond} chunks/s`;
    const measured = await flow(bench, {
      name,
      subjects: [...others, "tollgate"],
      before: freshen(load.streams),
      ...load,
    });
    rows.push(...measured.rows, ...below(name, measured.costs, OTHERS));
  }
  return rows;
}

/** Streams at random times, and the time to their first token beyond the upstream's own. */
async function firstToken(bench: Bench, names: readonly SubjectName[], perSecond: number): Promise<Row[]> {
  const name = `peers: open loop, ${perSecond}/s`;
  return withSubjects(bench, ["direct", ...names, "tollgate"], async (subjects, client) => {
    const p50s = new Samples<SubjectName>();
    const p99s = new Samples<SubjectName>();
    for (const subject of subjects.values()) {
      const request = requestText(subject, { stream: true, chunks: 16 });
      await warmUp(client, subject, { kind: "closed", port: subject.port, request, connections: 32 }, 2_000);
    }
    for (let round = 1; round <= bench.rounds; round++) {
      for (const subject of subjects.values()) {
        const request = requestText(subject, { stream: true, chunks: 16 });
        const ms = bench.quick ? 1_500 : 3_000;
        await freshen(32)(client, subject);
        const result = await client.run({ kind: "open", port: subject.port, request, perSecond, ms });
        expectWhole(subject, result);
        const { p50, p99 } = result.firstToken ?? { p50: Number.NaN, p99: Number.NaN };
        bench.say(`  ${name}, round ${round}: ${subject.name} ${p50.toFixed(2)}/${p99.toFixed(2)} ms`);
        p50s.add(subject.name, p50);
        p99s.add(subject.name, p99);
      }
    }
    return p50s.names().map((subject) => {
      const [p50, p99] = [p50s.above(subject, "direct"), p99s.above(subject, "direct")];
      const measure = `${subject}: first token over direct, p50 / p99`;
      return told(name, measure, `${p50.toFixed(2)} / ${p99.toFixed(2)} ms`);
    });
  });
}

export async function peersLatency(bench: Bench): Promise<Row[]> {
  return [...(await firstToken(bench, [...FLOORS, ...QUICK_ENOUGH], 500)), ...(await firstToken(bench, SLOW, 25))];
}

interface Load {
  readonly name: string;
  readonly peers: readonly SubjectName[];
  /** Runs the streams. */
  readonly run: (subject: Subject) => Promise<JobResult>;
  /** The bar for ours, in megabytes. */
  readonly most?: number;
}

/** Each subject's highest resident memory under a load, one after the other, freshly started. */
async function resident(bench: Bench, { name, peers, run, most }: Load): Promise<Row[]> {
  const rows: Row[] = [];
  for (const peer of peers) {
    await withSubjects(bench, [peer], async (subjects) => {
      for (const subject of subjects.values()) {
        const pid = subject.pid ?? process.pid;
        const idleMb = residentMb(pid);
        const watch = watchResident(pid);
        const result = await run(subject);
        const mostMb = watch.stop();
        const lost = result.failed === 0 ? "" : `, ${result.failed} lost`;
        const value = `${mostMb.toFixed(0)} MB (${idleMb.toFixed(0)} MB before the first), ${result.openMax} open at once${lost}`;
        bench.say(`  ${name}: ${peer} ${value}`);
        rows.push(told(name, `${peer}: resident`, value));
        if (peer === "tollgate" && most !== undefined) rows.push(atMost(name, "resident", mostMb, most, " MB"));
      }
    });
  }
  return rows;
}

export async function peersMemory(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const caller = await startClient(bench);
  const streams = (subject: Subject, load: { streams: number; chunks: number; perSecond: number; rampMs: number }) =>
    client.run({
      kind: "streams",
      port: subject.port,
      request: requestText(subject, { stream: true, ...load }),
      events: eventsOf(load.chunks),
      ...load,
    });
  const open = await resident(bench, {
    name: `peers: ${STREAMS_OPEN} streams, 1 chunk/s`,
    peers: [...FLOORS, ...QUICK_ENOUGH, "litellm", "tollgate"],
    run: (subject) =>
      streams(subject, { streams: STREAMS_OPEN, chunks: bench.quick ? 8 : 16, perSecond: 1, rampMs: 4_000 }),
  });
  const ms = bench.quick ? 8_000 : 30_000;
  const busy = await resident(bench, {
    name: "peers: 64 calls and 256 streams at once",
    peers: [...FLOORS, ...QUICK_ENOUGH, "portkey", "tollgate"],
    most: 220,
    run: async (subject) => {
      const request = requestText(subject, { stream: false });
      const calls = caller.run({ kind: "closed", port: subject.port, request, connections: 64, ms });
      const flowing = await streams(subject, { streams: 256, chunks: ms / 50, perSecond: 20, rampMs: 200 });
      expectWhole(subject, await calls);
      return flowing;
    },
  });
  return [...open, ...busy];
}

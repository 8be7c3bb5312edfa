// What the gateway adds to a call's time at 500 requests a second, against no gateway and two bare fdatasyncs.
import { atMost, type Bench, expectWhole, type Row, startClient, startSubjects, stopSubjects, told } from "../bench.ts";
import type { JobResult, Quantiles } from "../load/jobs.ts";
import { median, quantile, timeSyncPairs } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { requestText } from "../workload.ts";

const NAME = "open loop, 500/s";
const PER_SECOND = 500;
const CHUNKS = 16;

interface Round {
  readonly stream: JobResult;
  readonly unary: JobResult;
}

/** One round of one subject: streams for the time to the first token, whole answers for the whole call. */
async function measure(client: Client, subject: Subject, ms: number): Promise<Round> {
  const job = { kind: "open", port: subject.port, perSecond: PER_SECOND, ms } as const;
  const stream = await client.run({ ...job, request: requestText(subject, { stream: true, chunks: CHUNKS }) });
  expectWhole(subject, stream);
  const unary = await client.run({ ...job, request: requestText(subject, { stream: false }) });
  expectWhole(subject, unary);
  return { stream, unary };
}

/** Keeps a subject busy until it is optimized, which 500 requests a second would take minutes to do. */
async function warmUp(client: Client, subject: Subject, ms: number): Promise<void> {
  const job = { kind: "closed", port: subject.port, connections: 32, ms } as const;
  for (const stream of [true, false]) {
    expectWhole(subject, await client.run({ ...job, request: requestText(subject, { stream, chunks: CHUNKS }) }));
  }
}

/** Times pairs of fdatasyncs while `work` runs, so that they meet the same load. */
async function withSyncPairs<T>(bench: Bench, work: () => Promise<T>): Promise<{ result: T; pairs: number[] }> {
  const stop = new AbortController();
  const probing = timeSyncPairs(bench.folder, 5, stop.signal);
  const result = await work().finally(() => stop.abort());
  return { result, pairs: await probing };
}

type Pick = (round: Round) => Quantiles | null;
const PICKS: Readonly<Record<string, Pick>> = {
  "first token": (round) => round.stream.firstToken,
  "whole stream": (round) => round.stream.wholeCall,
  "whole answer": (round) => round.unary.wholeCall,
};

export async function latency(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, ["direct", "nginx", "bare", "tollgate", "base"]);
  const rounds = new Map<SubjectName, Round[]>();
  const syncs: { p50: number; p99: number }[] = [];
  const ms = bench.quick ? 1_200 : 3_000;
  for (const subject of subjects.values()) {
    if (subject.name !== "direct" && subject.name !== "nginx")
      await warmUp(client, subject, bench.quick ? 1_500 : 3_000);
  }
  for (let round = 1; round <= bench.rounds; round++) {
    for (const subject of subjects.values()) {
      const work = () => measure(client, subject, ms);
      const { result, pairs } =
        subject.name === "direct" ? await withSyncPairs(bench, work) : { result: await work(), pairs: null };
      const figures = Object.entries(PICKS).map(([what, pick]) => {
        const { p50, p99 } = pick(result) ?? { p50: Number.NaN, p99: Number.NaN };
        return `${what} ${p50.toFixed(2)}/${p99.toFixed(2)}`;
      });
      bench.say(`  ${NAME}, round ${round}: ${subject.name} p50/p99 ms: ${figures.join(", ")}`);
      rounds.set(subject.name, [...(rounds.get(subject.name) ?? []), result]);
      if (pairs !== null) syncs.push({ p50: quantile(pairs, 0.5), p99: quantile(pairs, 0.99) });
    }
  }
  await stopSubjects(bench, subjects);
  return rowsOf(rounds, syncs);
}

function rowsOf(rounds: ReadonlyMap<SubjectName, Round[]>, syncs: readonly { p50: number; p99: number }[]): Row[] {
  const over = (name: SubjectName, pick: Pick, at: "p50" | "p99") =>
    median(
      (rounds.get(name) ?? []).map((round, n) => {
        const direct = rounds.get("direct")?.[n];
        return (pick(round)?.[at] ?? Number.NaN) - ((direct && pick(direct)?.[at]) ?? Number.NaN);
      }),
    );
  const sync = { p50: median(syncs.map((pair) => pair.p50)), p99: median(syncs.map((pair) => pair.p99)) };
  const rows = [told(NAME, "two bare fdatasyncs, p50 / p99", `${sync.p50.toFixed(2)} / ${sync.p99.toFixed(2)} ms`)];
  for (const name of rounds.keys()) {
    if (name === "direct") continue;
    for (const [what, pick] of Object.entries(PICKS)) {
      const value = `${over(name, pick, "p50").toFixed(2)} / ${over(name, pick, "p99").toFixed(2)} ms`;
      rows.push(told(NAME, `${name}: ${what} over direct, p50 / p99`, value));
    }
  }
  if (!rounds.has("tollgate") || !rounds.has("direct")) return rows;
  const pick = (what: string) => PICKS[what] ?? (() => null);
  rows.push(atMost(NAME, "first token p50 over direct", over("tollgate", pick("first token"), "p50"), 0.8, " ms"));
  for (const what of ["whole answer", "whole stream"]) {
    const p50 = over("tollgate", pick(what), "p50") - sync.p50;
    const p99 = over("tollgate", pick(what), "p99") - sync.p99;
    rows.push(atMost(NAME, `${what} p50 over direct + 2 fdatasyncs`, p50, 1, " ms"));
    rows.push(atMost(NAME, `${what} p99 over direct + 2 fdatasyncs`, p99, 4, " ms"));
  }
  return rows;
}

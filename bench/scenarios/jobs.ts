// Two hundred concurrent jobs in one process: rows a minute, memory, the time of a poll, and chat's waiting time meanwhile.
import { setTimeout as sleep } from "node:timers/promises";
import { atLeast, atMost, type Bench, expectWhole, type Row, told, withGateway } from "../bench.ts";
import { cpuMs, watchResident } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { postText, requestText } from "../workload.ts";

const NAME = "200 jobs at once";
const JOBS = 200;
const JOBS_OF_ACCOUNT = 3;
/** The vendor's time for a page. */
const PAGE_MS = 2_700;
const CHAT_PER_SECOND = 100;

interface Launched {
  readonly id: string;
  readonly key: string;
}

async function run(subject: Subject, key: string, action: string, params: object): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${subject.port}/api/run/core/${action}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(params),
  });
  const { data, error } = (await response.json()) as { data: Record<string, unknown>; error?: string };
  if (!response.ok) throw new Error(`core/${action}: ${response.status} ${error}`);
  return data;
}

async function launch(subject: Subject, jobs: number, pages: number): Promise<readonly Launched[]> {
  const launched: Launched[] = [];
  while (launched.length < jobs) {
    const key = (await subject.openAccount?.()) ?? "";
    for (let at = 0; at < JOBS_OF_ACCOUNT && launched.length < jobs; at++) {
      const urls = Array.from({ length: pages }, (_, page) => `https://bench.example/${launched.length}/${page}`);
      const { job_id: id } = await run(subject, key, "onescrape-deep", { urls, budgetCents: Math.max(10, pages) });
      launched.push({ id: String(id), key });
    }
  }
  return launched;
}

/** Waits for the ends; returns the rows that were read, each charged once. */
async function allEnded(subject: Subject, launched: readonly Launched[]): Promise<number> {
  let rows = 0;
  for (const { id, key } of launched) {
    for (;;) {
      const job = await run(subject, key, "result", { job_id: id });
      if (job.status === "failed") throw new Error(`${id} failed`);
      if (job.status === "succeeded") {
        const { read_count: read, spent_cents: spent } = job.result as { read_count: number; spent_cents: number };
        if (read !== spent) throw new Error(`${id}: ${read} rows for ${spent} cents`);
        rows += read;
        break;
      }
      await sleep(200);
    }
  }
  return rows;
}

export function jobs(bench: Bench): Promise<Row[]> {
  const settings = {
    DIRECT_FETCH: "0",
    FIRECRAWL_API_KEY: "sk-bench",
    FIRECRAWL_BASE_URL: `http://127.0.0.1:${bench.upstream.port}/scrape/${PAGE_MS}`,
  };
  return withGateway(bench, (subject, client) => measure(bench, subject, client), { settings });
}

async function measure(bench: Bench, subject: Subject, client: Client): Promise<Row[]> {
  const ms = bench.quick ? 5_000 : 15_000;
  const request = requestText(subject, { stream: true, chunks: 16 });
  await client.run({ kind: "closed", port: subject.port, request, connections: 16, ms: bench.quick ? 2_000 : 5_000 });
  const alone = [await firstToken(client, subject, ms)];
  // One job that runs longer than it is polled.
  const [one] = await launch(subject, 1, 50);
  const lone = await pollMs(client, subject, one);

  const pid = subject.pid ?? 0;
  const watch = watchResident(pid);
  const cpuBefore = cpuMs(pid);
  const fromMs = performance.now();
  const launched = await launch(subject, JOBS, bench.quick ? 20 : 50);
  bench.say(`  ${NAME}: launched in ${Math.round(performance.now() - fromMs)} ms`);
  const poll = await pollMs(client, subject, launched[JOBS - 1]);
  const beside = await firstToken(client, subject, ms);
  const rows = await allEnded(subject, launched);
  const minutes = (performance.now() - fromMs) / 60_000;
  const peakMb = watch.stop();
  const cpu = cpuMs(pid) - cpuBefore;
  // Before and after, so that changing load of the machine is not taken for the jobs' effect.
  alone.push(await firstToken(client, subject, ms));
  const without = (alone[0] ?? Number.NaN) / 2 + (alone[1] ?? Number.NaN) / 2;
  bench.say(`  ${NAME}: first token p99 ${alone[0]?.toFixed(2)}, ${alone[1]?.toFixed(2)} ms without, ${beside} with`);
  return [
    atLeast(NAME, "rows a minute, none paid twice", rows / minutes, 5_000, ""),
    atMost(NAME, "resident at the most", peakMb, 600, " MB"),
    atMost(NAME, "first token p99 beside them over that without", beside / without, 1.2, "x"),
    atMost(NAME, "core/result of a job that runs alone, p50, one at a time", lone, 1, " ms"),
    told(NAME, "CPU a row, with what chat took meanwhile", `${(cpu / rows).toFixed(2)} ms`),
    told(NAME, "core/result of one beside 199, p50", `${poll.toFixed(2)} ms`),
  ];
}

async function firstToken(client: Client, subject: Subject, ms: number): Promise<number> {
  const request = requestText(subject, { stream: true, chunks: 16 });
  const result = await client.run({ kind: "open", port: subject.port, perSecond: CHAT_PER_SECOND, ms, request });
  expectWhole(subject, result);
  return result.firstToken?.p99 ?? Number.NaN;
}

async function pollMs(client: Client, subject: Subject, launched: Launched | undefined): Promise<number> {
  const of = { ...subject, headers: { authorization: `Bearer ${launched?.key}` } };
  const request = postText(of, "/api/run/core/result", { job_id: launched?.id });
  const job = { kind: "closed", port: subject.port, request, connections: 1 } as const;
  await client.run({ ...job, ms: 1_000 });
  const result = await client.run({ ...job, ms: 1_500 });
  expectWhole(subject, result);
  return result.wholeCall?.p50 ?? Number.NaN;
}

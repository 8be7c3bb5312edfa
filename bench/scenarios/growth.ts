// What ten million accounts and their past cost current callers: a grown store beside one with the callers alone.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atMost, type Bench, expectWhole, type Row, startClient, told, withCpu } from "../bench.ts";
import { type GrowthStore, growthStores } from "../growth-stores.ts";
import { type Job, type JobResult, SOMEBODY } from "../load/jobs.ts";
import { residentMb, Samples } from "../measure.ts";
import { startTollgate } from "../peers/tollgate.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { requestText } from "../workload.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const CONNECTIONS = 64;
const STARTS = 3;
/** A busy machine may not reach every caller in time. */
const FIRST_MS_MAX = 40_000;
const ASKED = 5;
/** The rate of calls beside a backup or the doctor. */
const BESIDE_PER_SECOND = 500;
const BESIDE_MS = 3_000;
const STORES = ["empty", "grown"] as const;
type StoreName = (typeof STORES)[number];

/** Figures of each store, round by round. */
class Figures {
  readonly #samples = new Samples();

  add(what: string, store: StoreName, figure: number): void {
    this.#samples.add(`${what} ${store}`, figure);
  }

  both(what: string, unit: string, digits = 0): string {
    const figure = (store: StoreName) => this.#samples.median(`${what} ${store}`).toFixed(digits);
    return STORES.map((store) => `${figure(store)}${unit} ${store}`).join(", ");
  }

  ratio(what: string): number {
    return this.#samples.ratio(`${what} grown`, `${what} empty`);
  }
}

async function tookMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

function ask(subject: Subject, method: string, path: string, body?: unknown): Promise<unknown> {
  if (subject.ask === undefined) throw new Error(`${subject.name} has no operator's side`);
  return subject.ask(method, path, body);
}

/** Calls of one key, or of a random known key each time. */
function callsOf(subject: Subject, store: GrowthStore, who: "one key" | "random keys") {
  if (who === "one key") return { port: subject.port, request: requestText(subject, { stream: false }) };
  const anybody = { ...subject, headers: { authorization: `Bearer ${SOMEBODY}` } };
  const callers = store.known.map(({ secret }) => secret);
  return { port: subject.port, request: requestText(anybody, { stream: false }), callers };
}

/** The 99th percentile of calls during `work`, and how long that took. */
async function beside(subject: Subject, client: Client, store: GrowthStore, work: () => Promise<unknown>) {
  const calls = { kind: "open", ...callsOf(subject, store, "random keys"), perSecond: BESIDE_PER_SECOND } as const;
  let done = false;
  const working = tookMs(work).finally(() => {
    done = true;
  });
  const p99s: number[] = [];
  do {
    const result = await client.run({ ...calls, ms: BESIDE_MS });
    expectWhole(subject, result);
    p99s.push(result.wholeCall?.p99 ?? Number.NaN);
  } while (!done);
  return { ms: await working, p99: Math.max(...p99s) };
}

/** The first call of every known key: nothing of the key or its account is in memory. */
const eachOnce = ({ known }: GrowthStore) => ({ inTurn: true, count: known.length, ms: FIRST_MS_MAX });

export async function growth(bench: Bench): Promise<Row[]> {
  const stores: Record<StoreName, GrowthStore> = await growthStores(bench.scale, bench.say);
  const name = `growth to ${stores.grown.accounts} accounts`;
  const rows: Row[] = [told(name, "postings", `${stores.grown.postings}`)];
  const figures = new Figures();
  const subjects = new Map<StoreName, Subject>();
  const ground = { ...bench, upstreamPort: bench.upstream.port, nodeFlags: [] };
  for (let start = 0; start < STARTS; start++) {
    for (const store of STORES) {
      const before = subjects.get(store)?.child;
      if (before) await bench.processes.stop(before);
      const started = tookMs(async () => {
        subjects.set(store, await startTollgate({ ...ground, folder: stores[store].folder }, "tollgate", ROOT));
      });
      figures.add("start", store, await started);
    }
  }
  const both = STORES.map((store) => [store, subjects.get(store) as Subject] as const);
  for (const [store, { pid }] of both) figures.add("memory at the start", store, residentMb(pid ?? 0));
  const client = await startClient(bench);

  // Run all rounds of one key first: a log full of many keys' pages would be checkpointed at its cost.
  for (const who of ["one key", "random keys"] as const) {
    for (let round = 0; round <= bench.rounds; round++) {
      for (const [store, subject] of round % 2 === 0 ? both : both.toReversed()) {
        const calls = { kind: "closed", ...callsOf(subject, stores[store], who), connections: CONNECTIONS } as const;
        const ms = bench.quick ? 1_500 : 3_000;
        const job: Job =
          round > 0 ? { ...calls, ms } : { ...calls, ...(who === "one key" ? { ms: 8_000 } : eachOnce(stores[store])) };
        const { result, cpuMs } = await withCpu(subject, () => client.run(job));
        expectWhole(subject, result);
        const us = (cpuMs * 1_000) / result.whole;
        bench.say(`  ${name}, ${who}, round ${round}: ${store} ${us.toFixed(1)} us CPU, ${rateOf(result)}/s`);
        if (round > 0) figures.add(who, store, us);
        else if (who === "random keys") figures.add("first calls", store, us);
      }
    }
  }
  for (const [store, { pid }] of both) figures.add("memory", store, residentMb(pid ?? 0));

  for (const [store, subject] of both) {
    const account = stores[store].known[1]?.accountId;
    const questions = [
      ["/metrics", "/metrics"],
      ["usage by day, one account", `/admin/v1/usage?by=day&account=${account}`],
      ["usage by day, operator", "/admin/v1/usage?by=day"],
      ["an account's last transactions", `/admin/v1/transactions?account=${account}`],
      ["the last transactions of all", "/admin/v1/transactions"],
      ["a page of accounts", "/admin/v1/accounts?limit=100"],
    ] as const;
    for (const [what, path] of questions) {
      for (let time = 0; time < ASKED; time++) figures.add(what, store, await tookMs(() => ask(subject, "GET", path)));
    }
    const alone = await beside(subject, client, stores[store], async () => {});
    figures.add("p99 alone", store, alone.p99);
    const copy = join(bench.folder, `${store}.backup`);
    const backup = await beside(subject, client, stores[store], () =>
      ask(subject, "POST", "/admin/v1/backup", { path: copy }),
    );
    rmSync(copy, { force: true });
    figures.add("backup", store, backup.ms / 1_000);
    figures.add("p99 beside a backup", store, backup.p99);
    figures.add("memory at the end", store, residentMb(subject.pid ?? 0));
    bench.say(`  ${name}: ${store} has been asked everything`);
  }
  for (const [, { child }] of both) if (child !== null) await bench.processes.stop(child);

  const timed = ["/metrics", "usage by day, one account", "usage by day, operator", "an account's last transactions"];
  rows.push(
    told(name, "time to start", figures.both("start", " ms")),
    told(name, "resident at the start", figures.both("memory at the start", " MB")),
    told(name, "resident after the calls", figures.both("memory", " MB")),
    told(name, "resident after reports and backup", figures.both("memory at the end", " MB")),
    told(name, "CPU per call, one key", figures.both("one key", " us")),
    told(name, "CPU per call, the first of each key", figures.both("first calls", " us")),
    told(name, `CPU per call, ${stores.grown.known.length} keys at random`, figures.both("random keys", " us")),
    atMost(name, "CPU per call over the empty store's, one key", figures.ratio("one key"), 1.1, "x"),
    atMost(name, "CPU per call over the empty store's, keys at random", figures.ratio("random keys"), 1.1, "x"),
    ...[...timed, "the last transactions of all", "a page of accounts"].map((what) =>
      told(name, what, figures.both(what, " ms", 1)),
    ),
    told(name, `calls' p99, ${BESIDE_PER_SECOND}/s of random keys`, figures.both("p99 alone", " ms", 1)),
    told(name, "backup", figures.both("backup", " s", 1)),
    told(name, "calls' worst p99 of 3 s beside it", figures.both("p99 beside a backup", " ms", 1)),
  );
  return rows;
}

/** The doctor reads everything, which takes minutes; measures what callers notice of it. */
export async function growthDoctor(bench: Bench): Promise<Row[]> {
  const { grown } = await growthStores(bench.scale, bench.say);
  const name = `the doctor of ${grown.accounts} accounts`;
  const ground = { ...bench, upstreamPort: bench.upstream.port, nodeFlags: [], folder: grown.folder };
  const subject = await startTollgate(ground, "tollgate", ROOT);
  const client = await startClient(bench);
  const calls = callsOf(subject, grown, "random keys");
  expectWhole(subject, await client.run({ kind: "closed", ...calls, connections: CONNECTIONS, ms: 8_000 }));
  const alone = await beside(subject, client, grown, async () => {});
  const doctor = await beside(subject, client, grown, async () => {
    const report = (await ask(subject, "GET", "/admin/v1/doctor")) as { readonly findings: readonly unknown[] };
    if (report.findings.length > 0) throw new Error(JSON.stringify(report.findings.slice(0, 5)));
  });
  const memory = residentMb(subject.pid ?? 0);
  if (subject.child !== null) await bench.processes.stop(subject.child);
  return [
    told(name, "no findings, after", `${(doctor.ms / 1_000).toFixed(1)} s`),
    told(name, `calls' p99, ${BESIDE_PER_SECOND}/s of random keys`, `${alone.p99.toFixed(1)} ms`),
    told(name, "their worst p99 of 3 s beside it", `${doctor.p99.toFixed(1)} ms`),
    told(name, "resident at the end", `${memory.toFixed(0)} MB`),
  ];
}

function rateOf({ whole, seconds }: JobResult): string {
  return (whole / seconds).toFixed(0);
}

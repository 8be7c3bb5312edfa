// Finding and pricing a call: a descriptor, the index for clients that have it cached, and the search.
import { atLeast, atMost, type Bench, expectWhole, type Row, told, withCpu, withGateway } from "../bench.ts";
import { median } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { getText, postText } from "../workload.ts";

const NAME = "catalog";
const CONNECTIONS = 64;
const DESCRIPTOR = "/api/run/bench/search";
const INDEX = "/api/run";
const DISCOVER = "/api/run/core/discover";
const QUERIES = [
  "search the web",
  "read a page as markdown",
  "find people at a company by job title",
  "generate an image from text",
  "text to speech",
  "company filings 10-K annual report",
  "court opinions and dockets",
  "clinical trials for a condition",
  "solve a captcha",
  "send an email",
  "archived copy of a web page",
  "tiktok video comments",
];

/** The index's current ETag. */
async function indexTag(subject: Subject): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${subject.port}${INDEX}`);
  await response.arrayBuffer();
  const tag = response.headers.get("etag");
  if (tag === null) throw new Error(`${INDEX} has no ETag: ${response.status}`);
  return tag;
}

export function catalog(bench: Bench): Promise<Row[]> {
  return withGateway(bench, (subject, client) => measure(bench, subject, client));
}

async function measure(bench: Bench, subject: Subject, client: Client): Promise<Row[]> {
  /** Answers per second and core, the median of the rounds. */
  async function perCore(what: string, request: string): Promise<number> {
    const found: number[] = [];
    for (let round = 0; round <= bench.rounds; round++) {
      const ms = round === 0 ? (bench.quick ? 2_000 : 4_000) : bench.quick ? 1_000 : 2_500;
      const job = { kind: "closed", port: subject.port, request, connections: CONNECTIONS, ms } as const;
      const { result, cpuMs } = await withCpu(subject, () => client.run(job));
      expectWhole(subject, result);
      const figure = (result.whole * 1000) / cpuMs;
      bench.say(`  ${NAME}, round ${round}: ${what} ${figure.toFixed(0)}/s per core`);
      if (round > 0) found.push(figure);
    }
    return median(found);
  }

  const descriptor = await perCore("descriptor", getText(subject, DESCRIPTOR));
  const conditional = { "if-none-match": await indexTag(subject) };
  const index = await perCore("index as 304", getText(subject, INDEX, conditional));
  const found: { query: string; p50: number; p99: number }[] = [];
  for (let round = 0; round <= 1; round++) {
    for (const query of QUERIES) {
      const request = postText(subject, DISCOVER, { query });
      const ms = bench.quick ? 250 : 1_000;
      const result = await client.run({ kind: "closed", port: subject.port, request, connections: 1, ms });
      expectWhole(subject, result);
      const { p50 = Number.NaN, p99 = Number.NaN } = result.wholeCall ?? {};
      if (round > 0) found.push({ query, p50, p99 });
    }
  }
  const slowest = found.reduce((worst, one) => (one.p50 > worst.p50 ? one : worst));
  bench.say(`  ${NAME}: ${found.map(({ query, p50 }) => `${query} ${p50.toFixed(2)} ms`).join("; ")}`);
  const p99 = Math.max(...found.map((one) => one.p99));
  return [
    atLeast(NAME, "descriptors a second per core", descriptor, 20_000, "/s"),
    atLeast(NAME, "the index as 304, a second per core", index, 20_000, "/s"),
    told(NAME, "discover, slowest of 12 questions", `p50 ${slowest.p50.toFixed(2)} ms; worst p99 ${p99.toFixed(2)} ms`),
    atMost(NAME, "discover p50, one at a time", median(found.map(({ p50 }) => p50)), 1, " ms"),
  ];
}

// What each part of the operator's day costs a call once it is switched on: windows over its money, traces, answers told again.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
import { Samples } from "../measure.ts";
import type { Subject, SubjectName } from "../subjects.ts";
import { requestText } from "../workload.ts";
import { warmUp } from "./closed-loop.ts";

const NAME = "opted in, 64 at once";
const CONNECTIONS = 64;
const CENTS = 900_000_000;
const TAG = "team=red";
const CACHED = { "x-tollgate-cache": "86400" };

type Variant = "plain" | "four windows" | "traces at 1 %" | "traces at 100 %" | "a cache hit";

/** A collector that accepts everything. */
async function startSink() {
  const server = createServer((request, response) => request.resume().on("end", () => response.end("{}")));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

type Said = Readonly<Record<string, string>>;

async function asked(subject: Subject, method: "GET" | "POST", path: string, body?: unknown): Promise<Said> {
  const response = await fetch(`http://127.0.0.1:${subject.port}${path}`, {
    method,
    headers: { ...subject.headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Said;
}

/** The same gateway by a key of another account, under four ceilings with their marks: the key's, its group's, its tag's, the account's. */
async function underWindows(subject: Subject): Promise<Subject> {
  const owner = { ...subject, headers: { authorization: `Bearer ${await subject.openAccount?.()}` } };
  const ceiling = { ceiling_cents: CENTS, ceiling_period: "day" };
  const { account_id: id } = await asked(owner, "GET", "/api/v1/account");
  await subject.ask?.("PATCH", `/admin/v1/accounts/${id}/budgets`, {
    account: { ...ceiling, lower_at: 80 },
    tags: [{ tag: TAG, ...ceiling, lower_at: 80 }],
  });
  const group = await asked(owner, "POST", "/api/v1/groups", { name: "bench", ...ceiling, lower_at: 80 });
  const key = await asked(owner, "POST", "/api/v1/agents", { group: group.id, ...ceiling });
  return { ...subject, headers: { authorization: `Bearer ${key.api_key}`, "x-tollgate-tags": TAG } };
}

/** Expects an answer from the cache. */
async function expectHit(subject: Subject, request: string): Promise<void> {
  const [, body = ""] = request.split("\r\n\r\n");
  const response = await fetch(`http://127.0.0.1:${subject.port}${subject.path}`, {
    method: "POST",
    headers: { ...subject.headers, "content-type": "application/json" },
    body,
  });
  await response.text();
  const said = response.headers.get("x-tollgate-cache");
  if (said !== "hit") throw new Error(`the cache said ${said}`);
}

export async function opted(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const sink = await startSink();
  const grounds: ReadonlyMap<SubjectName, Subject>[] = [];
  const start = async (settings: Record<string, string> = {}) => {
    const subjects = await startSubjects(bench, ["tollgate"], { settings });
    grounds.push(subjects);
    const subject = subjects.get("tollgate");
    if (subject === undefined) throw new Error("the gateway cannot run here");
    return subject;
  };
  const traced = (ratio: string) =>
    start({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url, OTEL_TRACES_SAMPLER_ARG: ratio, OTEL_BSP_SCHEDULE_DELAY: "1000" });
  const plain = await start();
  const bounded = await underWindows(plain);
  const cached = { ...plain, headers: { ...plain.headers, ...CACHED } };
  const variants = new Map<Variant, Subject>([
    ["plain", plain],
    ["four windows", bounded],
    ["traces at 1 %", await traced("0.01")],
    ["traces at 100 %", await traced("1")],
    ["a cache hit", cached],
  ]);
  const costs = new Samples<Variant>();
  for (let round = 0; round <= bench.rounds; round++) {
    for (const [variant, subject] of variants) {
      const request = requestText(subject, { stream: false });
      const job = { kind: "closed", port: subject.port, request, connections: CONNECTIONS } as const;
      if (round === 0) await warmUp(client, subject, job, bench.quick ? 3_000 : 6_000);
      const ms = bench.quick ? 1_000 : 2_500;
      const { result, cpuMs } = await withCpu(subject, () => client.run({ ...job, ms }));
      expectWhole(subject, result);
      const each = (cpuMs * 1_000) / result.whole;
      bench.say(`  ${NAME}, round ${round}: ${variant} ${each.toFixed(1)} us CPU`);
      if (round > 0) costs.add(variant, each);
    }
  }
  const stream = requestText(cached, { stream: true, chunks: 16 });
  const one = { kind: "closed", port: cached.port, request: stream, connections: 1 } as const;
  await client.run({ ...one, ms: 1_000 });
  await expectHit(cached, stream);
  const { firstToken } = await client.run({ ...one, ms: bench.quick ? 1_000 : 4_000 });
  for (const subjects of grounds) await stopSubjects(bench, subjects);
  sink.server.closeAllConnections();
  sink.server.close();
  return rowsOf(costs, firstToken?.p50 ?? Number.NaN);
}

function rowsOf(costs: Samples<Variant>, firstByteMs: number): Row[] {
  const ratio = (variant: Variant) => costs.ratio(variant, "plain");
  const above = (variant: Variant) => costs.above(variant, "plain");
  return [
    ...costs
      .names()
      .map((variant) => told(NAME, `${variant}: CPU per request`, `${costs.median(variant).toFixed(1)} us`)),
    atMost(NAME, "four windows and their marks, CPU over plain", above("four windows"), 3, " us"),
    atMost(NAME, "traces at 1 %, CPU over plain", ratio("traces at 1 %"), 1.02, "x"),
    atMost(NAME, "traces at 100 %, CPU over plain", above("traces at 100 %"), 25, " us"),
    atMost(NAME, "a cache hit, CPU over plain", ratio("a cache hit"), 0.4, "x"),
    atMost(NAME, "a cache hit, first token of a stream, p50", firstByteMs, 1, " ms"),
  ];
}

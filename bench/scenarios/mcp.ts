// MCP as agents use it: tool lists, action calls, and calls that stay open without traffic.
import { atLeast, atMost, type Bench, expectWhole, type Row, told, withCpu, withGateway } from "../bench.ts";
import { median, residentMb, watchResident } from "../measure.ts";
import type { Client } from "../processes.ts";
import type { Subject } from "../subjects.ts";
import { postText } from "../workload.ts";

const NAME = "mcp";
const PATH = "/mcp";
const REVISION = "2026-07-28";
const CONNECTIONS = 64;
const CALLS = 5_000;
/** Longer than sending all of them takes. */
const WAIT_MS = 30_000;

/** A whole request as a client of the newest revision sends it. */
function asked(subject: Subject, method: string, params: Record<string, unknown>, name?: string): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = {
    ...subject.headers,
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": REVISION,
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  };
  return postText({ ...subject, headers }, PATH, { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
}

/** A call of the bench's own vendor as a tool. */
export function runActionText(subject: Subject): string {
  return callText(subject, "bench/search", { query: "lighthouses", limit: 5 });
}

function callText(subject: Subject, action: string, params: Record<string, unknown>): string {
  return asked(subject, "tools/call", { name: "run_action", arguments: { action, params } }, "run_action");
}

/** Calls that wait for their vendor, each on its own connection. */
async function waiting(bench: Bench, subject: Subject, client: Client): Promise<Row[]> {
  const count = bench.quick ? CALLS / 10 : CALLS;
  const text = callText(subject, "bench/wait", { ms: bench.quick ? 4_000 : WAIT_MS });
  const pid = subject.pid ?? process.pid;
  const before = residentMb(pid);
  const watch = watchResident(pid);
  const result = await client.run({
    kind: "closed",
    port: subject.port,
    request: text,
    connections: count,
    count,
    ms: 1,
  });
  const grownMb = watch.stop() - before;
  expectWhole(subject, result);
  const each = told(NAME, `${count} calls that wait: each`, `${((grownMb * 1024) / count).toFixed(1)} KB`);
  return [each, atMost(NAME, `${CALLS} calls that wait: memory`, (grownMb * CALLS) / count, 200, " MB")];
}

export function mcp(bench: Bench): Promise<Row[]> {
  return withGateway(bench, (subject, client) => measure(bench, subject, client));
}

async function measure(bench: Bench, subject: Subject, client: Client): Promise<Row[]> {
  const ms = bench.quick ? 1_000 : 2_500;
  const list = asked(subject, "tools/list", {});
  const run = runActionText(subject);
  const p50s: number[] = [];
  const calls: number[] = [];
  for (let round = 0; round <= bench.rounds; round++) {
    const alone = await client.run({ kind: "closed", port: subject.port, request: list, connections: 1, ms });
    const job = { kind: "closed", port: subject.port, request: run, connections: CONNECTIONS, ms } as const;
    const { result, cpuMs } = await withCpu(subject, () => client.run(job));
    for (const one of [alone, result]) expectWhole(subject, one);
    const figure = (result.whole * 1000) / cpuMs;
    bench.say(`  ${NAME}, round ${round}: ${figure.toFixed(0)} calls/s per core`);
    // Round 0 warms up.
    if (round === 0) continue;
    p50s.push(alone.wholeCall?.p50 ?? Number.NaN);
    calls.push(figure);
  }
  return [
    atMost(NAME, "tools/list p50, one at a time", median(p50s), 1, " ms"),
    atLeast(NAME, "run_action a second per core", median(calls), 1_000, "/s"),
    ...(await waiting(bench, subject, client)),
  ];
}

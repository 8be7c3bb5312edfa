// MCP as agents use it: the list of tools, calls of an action, and streams that lie open with nothing to tell.
import { connect, type Socket } from "node:net";
import {
  atLeast,
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
import { median, residentMb } from "../measure.ts";
import type { Subject } from "../subjects.ts";
import { postText } from "../workload.ts";

const NAME = "mcp";
const PATH = "/mcp";
const REVISION = "2026-07-28";
const CONNECTIONS = 64;
const STREAMS = 5_000;
/** Opened at once; more would wait in the listener's queue. */
const AT_ONCE = 100;

/** A request as a client of the newest revision sends it, whole. */
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

/** A call of the bench's own vendor, as a tool. */
export function runActionText(subject: Subject): string {
  const args = { action: "bench/search", params: { query: "lighthouses", limit: 5 } };
  return asked(subject, "tools/call", { name: "run_action", arguments: args }, "run_action");
}

/** The text goes out, and the head of a stream has to come. */
function openStream(port: number, text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.once("error", reject);
    socket.once("data", (bytes) => {
      const head = bytes.toString("latin1");
      if (/^HTTP\/1.1 200 .*text\/event-stream/is.test(head)) resolve(socket.resume());
      else reject(new Error(`no stream was opened: ${head.slice(0, 300)}`));
    });
  });
}

async function idleStreams(bench: Bench, subject: Subject): Promise<Row[]> {
  const count = bench.quick ? STREAMS / 10 : STREAMS;
  const text = asked(subject, "subscriptions/listen", { notifications: { toolsListChanged: true } });
  const pid = subject.pid ?? process.pid;
  const before = residentMb(pid);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const more = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () =>
      openStream(subject.port, text),
    );
    sockets.push(...(await Promise.all(more)));
  }
  const grownMb = residentMb(pid) - before;
  for (const socket of sockets) socket.destroy();
  const each = told(NAME, `${count} idle streams: each`, `${((grownMb * 1024) / count).toFixed(1)} KB`);
  return [each, atMost(NAME, `${STREAMS} idle streams: memory`, (grownMb * STREAMS) / count, 200, " MB")];
}

export async function mcp(bench: Bench): Promise<Row[]> {
  const client = await startClient(bench);
  const subjects = await startSubjects(bench, ["tollgate"]);
  const subject = subjects.get("tollgate");
  if (subject === undefined) return [];
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
  const rows = [
    atMost(NAME, "tools/list p50, one at a time", median(p50s), 1, " ms"),
    atLeast(NAME, "run_action a second per core", median(calls), 1_000, "/s"),
    ...(await idleStreams(bench, subject)),
  ];
  await stopSubjects(bench, subjects);
  return rows;
}

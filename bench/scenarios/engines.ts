// The node engine beside uWebSockets.js: a call, a chunk, and a call over TLS beside nginx that terminates TLS in front.
import { atMost, type Bench, type Row } from "../bench.ts";
import { requestText } from "../workload.ts";
import { closedLoop } from "./closed-loop.ts";
import { flow } from "./streams.ts";

export async function engines(bench: Bench): Promise<Row[]> {
  const calls = {
    name: "engines: unary, 64 at once",
    subjects: ["tollgate", "node"],
    each: "request",
    request: (subject) => requestText(subject, { stream: false }),
  } satisfies Parameters<typeof closedLoop>[1];
  const call = await closedLoop(bench, calls);
  const chunks = "engines: 256 streams, 100 chunks/s";
  const load = { streams: 256, perSecond: 100, chunks: bench.quick ? 200 : 400 };
  const chunk = await flow(bench, { name: chunks, subjects: ["tollgate", "node"], ...load });
  const name = "engines: unary over TLS";
  const tls = await closedLoop(bench, { ...calls, name, subjects: ["tls-uws", "tls-node", "tls-nginx"] });
  const measure = "of TLS: CPU over nginx and uws together";
  return [
    ...[...call.rows, ...chunk.rows, ...tls.rows],
    atMost(calls.name, "node over uws", call.costs.ratio("node", "tollgate"), 1.35, "x"),
    atMost(chunks, "node over uws", chunk.costs.ratio("node", "tollgate"), 1.2, "x"),
    atMost(name, `uws ${measure}`, tls.costs.ratio("tls-uws", "tls-nginx"), 1, "x"),
    atMost(name, `node ${measure}`, tls.costs.ratio("tls-node", "tls-nginx"), 1, "x"),
  ];
}

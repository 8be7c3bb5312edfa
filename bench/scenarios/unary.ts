// What a whole answer costs in CPU when 64 clients are always waiting for one.
import { atMost, type Bench, type Row } from "../bench.ts";
import { requestText } from "../workload.ts";
import { closedLoop } from "./closed-loop.ts";

const NAME = "unary, 64 at once";

export async function unary(bench: Bench): Promise<Row[]> {
  const { rows, costs } = await closedLoop(bench, {
    name: NAME,
    subjects: ["nginx", "bare", "tollgate", "base", "portkey"],
    each: "request",
    request: (subject) => requestText(subject, { stream: false }),
  });
  if (!costs.has("tollgate")) return [...rows];
  const most = bench.wire === "plain" ? 2.4 : 1.8;
  return [
    ...rows,
    atMost(NAME, "CPU over the bare proxy's", costs.ratio("tollgate", "bare"), most, "x"),
    atMost(NAME, "CPU over nginx's", costs.ratio("tollgate", "nginx"), 5, "x"),
    atMost(NAME, "CPU over Portkey's", costs.ratio("tollgate", "portkey"), 0.167, "x"),
    ...(costs.has("base") ? [atMost(NAME, "CPU over the base's", costs.ratio("tollgate", "base"), 1.01, "x")] : []),
  ];
}

// What a whole answer costs in CPU when 64 clients are always waiting for one.
import { atMost, type Bench, type Row } from "../bench.ts";
import { medianRatio } from "../measure.ts";
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
  const ours = costs.get("tollgate");
  if (ours === undefined) return [...rows];
  const most = bench.wire === "plain" ? 2.4 : 1.8;
  return [
    ...rows,
    atMost(NAME, "CPU over the bare proxy's", medianRatio(ours, costs.get("bare")), most, "x"),
    atMost(NAME, "CPU over nginx's", medianRatio(ours, costs.get("nginx")), 5, "x"),
    atMost(NAME, "CPU over Portkey's", medianRatio(ours, costs.get("portkey")), 0.167, "x"),
    ...(costs.has("base")
      ? [atMost(NAME, "CPU over the base's", medianRatio(ours, costs.get("base")), 1.01, "x")]
      : []),
  ];
}

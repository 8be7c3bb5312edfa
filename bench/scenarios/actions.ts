// The CPU of a small action call when 64 clients always wait for one.
import { atMost, type Bench, type Row } from "../bench.ts";
import { searchText } from "../workload.ts";
import { closedLoop } from "./closed-loop.ts";

const NAME = "action, 64 at once";

export async function actions(bench: Bench): Promise<Row[]> {
  const { rows, costs } = await closedLoop(bench, {
    name: NAME,
    subjects: ["bare", "tollgate", "base"],
    each: "call",
    request: searchText,
  });
  if (!costs.has("tollgate")) return [...rows];
  return [...rows, atMost(NAME, "CPU over the bare proxy's", costs.ratio("tollgate", "bare"), 2.4, "x")];
}

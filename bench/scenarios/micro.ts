// The microbenchmarks, in their own process.
import type { Bench, Row } from "../bench.ts";

export async function micro(bench: Bench): Promise<Row[]> {
  const file = new URL("../micro.ts", import.meta.url);
  const { hello } = await bench.processes.fork(file, { args: bench.quick ? ["--quick"] : [] });
  return [...(hello.rows ?? [])];
}

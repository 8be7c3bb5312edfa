// Counts of a call, an action and a chunk, which do not depend on the machine, beside the saved ones.
import { join } from "node:path";
import type { Bench, Row } from "../bench.ts";
import { MEASURES, startCountedGateway } from "../counts/counted-gateway.ts";
import { ABOUT, dearer, keep, readKept, takeCounts, UNITS } from "../counts/kept.ts";

const NAME = "counts";
/** Times four rounds. */
const TIMES = 4;

export async function counts(bench: Bench): Promise<Row[]> {
  const gateway = await startCountedGateway(bench.processes, join(bench.folder, NAME));
  const found = await takeCounts(gateway, TIMES);
  await gateway.stop();
  if (bench.keep) keep(found);
  const kept = readKept();
  const dear = new Set(dearer(kept.counts, found).map(({ unit, measure }) => `${unit} ${measure}`));
  return UNITS.flatMap((unit) =>
    MEASURES.map((measure) => ({
      scenario: NAME,
      measure: `a ${unit}: ${ABOUT[measure].what}`,
      value: found[unit][measure].toFixed(2),
      bar: `${kept.counts[unit][measure].toFixed(2)} kept`,
      verdict: dear.has(`${unit} ${measure}`) ? ("miss" as const) : ("pass" as const),
    })),
  );
}

// Many concurrent streams, each read to its end and counted: the cost of a flowing answer, and whether any is lost.
import { Connection } from "./connection.ts";
import type { JobResult, Streams } from "./jobs.ts";
import { Tally } from "./tally.ts";

const STEP_MS = 10;
// Enough for quantiles, few enough that timing them costs nothing.
const TIMED = 16;

export async function manyStreams(job: Streams): Promise<JobResult> {
  const tally = new Tally();
  const { promise: finished, resolve } = Promise.withResolvers<void>();
  const connections: Connection[] = [];
  let ended = 0;
  const onGap = (ms: number) => void tally.gaps.push(ms);
  const open = () => {
    const connection = new Connection({
      port: job.port,
      ...(connections.length < TIMED ? { onGap } : {}),
      onEnd(exchange) {
        tally.ended(exchange, exchange.events >= job.events);
        ended += 1;
        connection.destroy();
        if (ended === job.streams) resolve();
      },
    });
    connections.push(connection);
    tally.sent();
    // Writes before the connection is open wait for it; a refused one ends as a failure.
    connection.ready.catch(() => {});
    connection.send(job.request);
  };
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const share = Math.min(1, (performance.now() - startedAt) / Math.max(job.rampMs, 1));
    while (connections.length < Math.ceil(job.streams * share)) open();
    if (connections.length === job.streams) clearInterval(timer);
  }, STEP_MS);
  await finished;
  return tally.result();
}

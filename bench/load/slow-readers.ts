// Clients that request a lot and read one byte a second: a server that buffers for them pays in memory.
import { setTimeout as sleep } from "node:timers/promises";
import { Connection } from "./connection.ts";
import type { JobResult, SlowReaders } from "./jobs.ts";
import { Tally } from "./tally.ts";

export async function slowReaders(job: SlowReaders): Promise<JobResult> {
  const tally = new Tally();
  const connections = Array.from(
    { length: job.connections },
    () => new Connection({ port: job.port, slow: true, onEnd: (exchange) => tally.ended(exchange) }),
  );
  await Promise.all(connections.map((connection) => connection.ready));
  for (const connection of connections) {
    tally.sent();
    connection.send(job.request);
  }
  for (let ms = 0; ms < job.ms; ms += 1000) {
    await sleep(1000);
    for (const connection of connections) if (!connection.closed) connection.readByte();
  }
  const bytes = connections.reduce((sum, connection) => sum + connection.received, 0);
  for (const connection of connections) connection.destroy();
  return { ...tally.result(), bytes };
}

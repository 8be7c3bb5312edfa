// A fixed number of clients that each wait for an answer before the next request: the cost of a request at saturation.
import { Connection } from "./connection.ts";
import type { ClosedLoop, JobResult } from "./jobs.ts";
import { requests } from "./requests.ts";
import { Tally } from "./tally.ts";

export async function closedLoop(job: ClosedLoop): Promise<JobResult> {
  const sentAt = new Map<Connection, number>();
  const { promise: finished, resolve } = Promise.withResolvers<void>();
  const connections = Array.from(
    { length: job.connections },
    () =>
      new Connection({
        port: job.port,
        tls: job.tls === true,
        onEnd(exchange, connection) {
          tally.ended(exchange);
          tally.time(exchange, sentAt.get(connection) ?? 0);
          if (performance.now() < stopAt && left > 0 && !connection.closed) send(connection);
          else if (tally.open === 0) resolve();
        },
      }),
  );
  await Promise.all(connections.map((connection) => connection.ready));
  const tally = new Tally();
  const stopAt = performance.now() + job.ms;
  const request = requests(job);
  let left = job.count ?? Number.POSITIVE_INFINITY;
  const send = (connection: Connection) => {
    left -= 1;
    tally.sent();
    sentAt.set(connection, performance.now());
    connection.send(request());
  };
  for (const connection of connections) send(connection);
  await finished;
  for (const connection of connections) connection.destroy();
  return tally.result();
}

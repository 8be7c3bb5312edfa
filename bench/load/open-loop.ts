// Requests at their own times: latency counts from when a request was due, so that a slow server cannot hide by delaying us.
import { Connection } from "./connection.ts";
import type { JobResult, OpenLoop } from "./jobs.ts";
import { requests } from "./requests.ts";
import { Tally } from "./tally.ts";

// Enough that a request rarely waits for a new connection, which would add the client's latency.
const CONNECTIONS = 128;

/** A Poisson process with a fixed seed, so that every subject gets the same arrivals. */
function* arrivals(perSecond: number, untilMs: number): Generator<number> {
  let seed = 0x2545f491;
  for (let atMs = 0; atMs < untilMs; ) {
    yield atMs;
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    atMs += (-Math.log(((seed >>> 0) + 1) / 4_294_967_297) * 1000) / perSecond;
  }
}

/** Waits until `at`: sleeps while it is far, polls when it is near, because timers are up to 1 ms late. */
function until(at: number): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      const leftMs = at - performance.now();
      if (leftMs <= 0) resolve();
      else if (leftMs > 1.2) setTimeout(look, leftMs - 1.2);
      else setImmediate(look);
    };
    look();
  });
}

export async function openLoop(job: OpenLoop): Promise<JobResult> {
  const tally = new Tally();
  const request = requests(job);
  const dueAt = new Map<Connection, number>();
  const idle: Connection[] = [];
  const all: Connection[] = [];
  let wake = () => {};
  const open = () => {
    const connection = new Connection({
      port: job.port,
      onEnd(exchange, ended) {
        tally.ended(exchange);
        if (exchange.whole) tally.time(exchange, dueAt.get(ended) ?? 0);
        if (!ended.closed) idle.push(ended);
        wake();
      },
    });
    all.push(connection);
    return connection;
  };
  for (let n = 0; n < CONNECTIONS; n++) idle.push(open());
  await Promise.all(all.map((connection) => connection.ready));
  const startedAt = performance.now();
  for (const atMs of arrivals(job.perSecond, job.ms)) {
    await until(startedAt + atMs);
    let connection = idle.pop();
    // The server closes connections that have asked nothing for ten seconds.
    while (connection?.closed) connection = idle.pop();
    connection ??= open();
    dueAt.set(connection, startedAt + atMs);
    tally.sent();
    connection.send(request());
  }
  while (tally.open > 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  for (const connection of all) connection.destroy();
  return tally.result();
}

// The cost of the HTTP client that calls upstreams, beside alternatives: undici as src/upstream uses it, its parts, node:http.
import { type Bench, type Row, told } from "../bench.ts";
import { type ClientJob, type ClientWork, HTTP_CLIENTS, TLS_CLIENTS } from "../http-clients.ts";
import { median, medianRatio } from "../measure.ts";
import { message } from "../processes.ts";

const NAME = "HTTP clients";
const AS_USED = "undici Agent";
const FILE = new URL("../http-clients.ts", import.meta.url);

interface Load {
  readonly name: string;
  readonly each: string;
  readonly job: Omit<ClientJob, "units">;
  /** Warm-up units, and units per round. */
  readonly warmUp: number;
  readonly round: number;
}

const LOADS: readonly Load[] = [
  { name: "64 at once", each: "call", job: { kind: "unary", atOnce: 64, open: 0 }, warmUp: 20_000, round: 8_000 },
  {
    name: "8 at once beside 3,000 open",
    each: "call",
    job: { kind: "unary", atOnce: 8, open: 3_000 },
    warmUp: 10_000,
    round: 4_000,
  },
  {
    name: "256 streams, 100 chunks/s",
    each: "chunk",
    job: { kind: "streams", atOnce: 256, open: 0 },
    warmUp: 150,
    round: 100,
  },
];

/** Microseconds of CPU per unit, round by round, of all clients in turn. */
async function measure(bench: Bench, { name, job, warmUp, round: units }: Load): Promise<Map<string, number[]>> {
  const { port, bigPort, tlsPort, http2Port, authorityFile } = bench.upstream;
  // The other upstream closes calls that stay silent for ten seconds.
  const origin = `http://127.0.0.1:${job.kind === "unary" ? bigPort : port}`;
  const secure = (client: string) => `https://127.0.0.1:${client.endsWith("HTTP/2") ? http2Port : tlsPort}`;
  const costs = new Map<string, number[]>();
  const clients = [
    ...Object.keys(HTTP_CLIENTS).map((client) => ({ client, args: [client, origin] })),
    ...(job.open > 0 ? [] : Object.keys(TLS_CLIENTS)).map((client) => {
      return { client, args: [client, secure(client), authorityFile] };
    }),
  ];
  const started = await Promise.all(
    clients.map(async ({ client, args }) => ({ client, child: (await bench.processes.fork(FILE, { args })).child })),
  );
  for (let round = 0; round <= bench.rounds; round++) {
    for (const { client, child } of started) {
      const answer = message(child, client);
      const work: ClientJob = { ...job, units: round === 0 ? warmUp : units };
      child.send(work);
      const { units: done, cpuUs } = (await answer) as ClientWork;
      bench.say(`  ${NAME}: ${name}, round ${round}: ${client} ${(cpuUs / done).toFixed(1)} us`);
      if (round > 0) costs.set(client, [...(costs.get(client) ?? []), cpuUs / done]);
    }
  }
  await Promise.all(started.map(({ child }) => bench.processes.stop(child)));
  return costs;
}

function rowsOf({ name, each }: Load, costs: ReadonlyMap<string, readonly number[]>): Row[] {
  return [...costs].map(([client, cost]) => {
    const ratio = medianRatio(cost, costs.get(AS_USED)).toFixed(2);
    return told(`${NAME}: ${name}`, `${client}: CPU per ${each}`, `${median(cost).toFixed(1)} us (${ratio}x)`);
  });
}

export async function httpClients(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const load of LOADS) rows.push(...rowsOf(load, await measure(bench, load)));
  return rows;
}

// `npm run bench`: starts what it needs, measures, prints a table of bars, and leaves nothing running.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makeCertificate } from "../test/support/certificates.ts";
import { removeFolder } from "../test/support/remove-folder.ts";
import { atMost, type Bench, over, type Row, type Scenario } from "./bench.ts";
import { describeMachine, foreignWork } from "./measure.ts";
import { Processes } from "./processes.ts";
import { profile } from "./profile.ts";
import { acting } from "./scenarios/acting.ts";
import { actions } from "./scenarios/actions.ts";
import { allocated } from "./scenarios/allocated.ts";
import { beside } from "./scenarios/beside.ts";
import { catalog } from "./scenarios/catalog.ts";
import { cores } from "./scenarios/cores.ts";
import { counts } from "./scenarios/counts.ts";
import { engines } from "./scenarios/engines.ts";
import { events } from "./scenarios/events.ts";
import { growth, growthDoctor } from "./scenarios/growth.ts";
import { growthRedis } from "./scenarios/growth-redis.ts";
import { jobs } from "./scenarios/jobs.ts";
import { latency } from "./scenarios/latency.ts";
import { many } from "./scenarios/many.ts";
import { mcp } from "./scenarios/mcp.ts";
import { memory } from "./scenarios/memory.ts";
import { micro } from "./scenarios/micro.ts";
import { models } from "./scenarios/models.ts";
import { open } from "./scenarios/open.ts";
import { opted } from "./scenarios/opted.ts";
import { pages } from "./scenarios/pages.ts";
import { payments } from "./scenarios/payments.ts";
import { peersLatency, peersMemory, peersStreams, peersUnary } from "./scenarios/peers.ts";
import { realtime } from "./scenarios/realtime.ts";
import { redis } from "./scenarios/redis.ts";
import { slow } from "./scenarios/slow.ts";
import { spliced } from "./scenarios/spliced.ts";
import { streams } from "./scenarios/streams.ts";
import { unary } from "./scenarios/unary.ts";
import { sites } from "./sites.ts";
import { printTable, saveTable } from "./table.ts";

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  unary,
  "unary-tls": over("tls", unary),
  "unary-http2": over("http2", unary),
  streams,
  "streams-tls": over("tls", streams),
  "streams-http2": over("http2", streams),
  open,
  latency,
  "latency-tls": over("tls", latency),
  "latency-http2": over("http2", latency),
  many,
  "many-tls": over("tls", many),
  "many-http2": over("http2", many),
  memory,
  realtime,
  slow,
  actions,
  acting,
  spliced,
  engines,
  catalog,
  pages,
  models,
  jobs,
  payments,
  redis,
  cores,
  allocated,
  counts,
  mcp,
  events,
  opted,
  micro,
};
/** These need much time, other programs or disk space, so they run only by name. */
const BY_NAME: Readonly<Record<string, Scenario>> = {
  beside,
  growth,
  "growth-doctor": growthDoctor,
  "growth-redis": growthRedis,
  "peers-unary": peersUnary,
  "peers-unary-tls": over("tls", peersUnary),
  "peers-unary-http2": over("http2", peersUnary),
  "peers-streams": peersStreams,
  "peers-streams-tls": over("tls", peersStreams),
  "peers-streams-http2": over("http2", peersStreams),
  "peers-latency": peersLatency,
  "peers-memory": peersMemory,
};
const ALL = { ...SCENARIOS, ...BY_NAME };
const USAGE = `npm run bench -- [${Object.keys(SCENARIOS).join("] [")}] [--quick] [--keep] [--rounds=N] [--subjects=a,b] [--base=FOLDER] [--scale=0.1] [--json] [--save]
npm run bench -- ${Object.keys(BY_NAME).join(" ")}
npm run bench -- profile unary|streams|open|actions|acting|mcp|spliced|redis [--subjects=bare|node]
npm run bench -- sites unary|actions [--subjects=bare]`;

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
    base: { type: "string" },
    subjects: { type: "string" },
    rounds: { type: "string" },
    scale: { type: "string", default: "0.1" },
  },
});

const say = (line: string) => process.stderr.write(`${line}\n`);
const processes = new Processes();
const folder = join(fileURLToPath(new URL(".work", import.meta.url)), String(process.pid));

async function leave(code: number): Promise<never> {
  await processes.stopAll();
  removeFolder(folder);
  process.exit(code);
}

async function prepare(): Promise<Bench> {
  mkdirSync(folder, { recursive: true });
  const { keyFile, certificateFile } = await makeCertificate(folder);
  const { hello } = await processes.fork(new URL("./upstream.ts", import.meta.url), {
    args: [keyFile, certificateFile],
  });
  const { port, bigPort = 0, tlsPort = 0, http2Port = 0 } = hello;
  return {
    processes,
    upstream: { port, bigPort, tlsPort, http2Port, authorityFile: certificateFile, keyFile },
    wire: "plain",
    folder,
    quick: flags.quick,
    keep: flags.keep,
    rounds: Number(flags.rounds ?? (flags.quick ? 2 : 5)),
    base: flags.base ?? null,
    only: flags.subjects === undefined ? null : new Set(flags.subjects.split(",")),
    scale: Number(flags.scale),
    say,
  };
}

async function measure(bench: Bench): Promise<Row[]> {
  const work = foreignWork();
  const rows: Row[] = [];
  for (const [name, scenario] of Object.entries(names.length > 0 ? ALL : SCENARIOS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    say(`${name} ... (${Math.round(performance.now() / 1000)} s since the start)`);
    rows.push(...(await scenario(bench)));
  }
  await processes.stopAll();
  rows.push(atMost("machine", "CPU taken by others meanwhile", work() * 100, 10, " % of a core"));
  return rows;
}

async function main(): Promise<void> {
  const bench = await prepare();
  if (names[0] === "profile") {
    console.log(await profile(bench, names[1] ?? "unary"));
    return;
  }
  if (names[0] === "sites") {
    console.log(await sites(bench, names[1] ?? "unary"));
    return;
  }
  const rows = await measure(bench);
  if (flags.json) console.log(JSON.stringify({ machine: describeMachine(), rows }, null, 2));
  else console.log(printTable(rows));
  if (flags.save) saveTable(rows);
}

if (names[0] !== "profile" && names[0] !== "sites" && names.some((name) => !(name in ALL))) {
  say(USAGE);
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void leave(130));
try {
  await main();
  await leave(0);
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  await leave(1);
}

// `npm run bench`: starts what it needs, measures, prints a table of bars, and leaves nothing running.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Bench, Row, Scenario } from "./bench.ts";
import { describeMachine } from "./measure.ts";
import { Processes } from "./processes.ts";
import { latency } from "./scenarios/latency.ts";
import { many } from "./scenarios/many.ts";
import { slow } from "./scenarios/slow.ts";
import { streams } from "./scenarios/streams.ts";
import { unary } from "./scenarios/unary.ts";
import { printTable, saveTable } from "./table.ts";

const SCENARIOS: Readonly<Record<string, Scenario>> = { unary, streams, latency, many, slow };
const HOME = fileURLToPath(new URL(".work", import.meta.url));

const { values: flags, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
    subjects: { type: "string" },
    rounds: { type: "string" },
  },
});

const say = (line: string) => process.stderr.write(`${line}\n`);
const processes = new Processes();

async function leave(code: number): Promise<never> {
  await processes.stopAll();
  rmSync(HOME, { recursive: true, force: true });
  process.exit(code);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void leave(130));

async function run(): Promise<Row[]> {
  const folder = join(HOME, String(process.pid));
  mkdirSync(folder, { recursive: true });
  const { hello } = await processes.fork(new URL("./upstream.ts", import.meta.url));
  const bench: Bench = {
    processes,
    upstream: { port: hello.port, bigPort: hello.bigPort ?? 0 },
    folder,
    quick: flags.quick,
    rounds: Number(flags.rounds ?? (flags.quick ? 2 : 5)),
    only: flags.subjects === undefined ? null : new Set(flags.subjects.split(",")),
    say,
  };
  const rows: Row[] = [];
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    say(`${name} ...`);
    rows.push(...(await scenario(bench)));
  }
  return rows;
}

const unknown = names.filter((name) => !(name in SCENARIOS));
if (unknown.length > 0) {
  say(`no such benchmark: ${unknown.join(", ")}. There are: ${Object.keys(SCENARIOS).join(", ")}`);
  process.exit(2);
}
try {
  const rows = await run();
  if (flags.json) console.log(JSON.stringify({ machine: describeMachine(), rows }, null, 2));
  else console.log(printTable(rows));
  if (flags.save) saveTable(rows);
  await leave(0);
} catch (error) {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  await leave(1);
}

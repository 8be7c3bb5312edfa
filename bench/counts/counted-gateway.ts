// A gateway whose work is counted, one call at a time: counts that neither the machine nor what else it does can move.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { compilePreloaded } from "../../test/support/preloaded.ts";
import { Connection } from "../load/connection.ts";
import type { Processes } from "../processes.ts";
import { type Subject, startSubject } from "../subjects.ts";
import { eventsOf, requestText, searchText } from "../workload.ts";
import { LockstepUpstream } from "./lockstep-upstream.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Megabytes of young objects: many times what a round makes, so that nothing is cleared up while it is counted. */
const ROOM_MB = 64;
const FLAGS = [
  `--min-semi-space-size=${ROOM_MB}`,
  `--max-semi-space-size=${ROOM_MB}`,
  "--expose-gc",
  // When a function becomes hot is the clock's to say, and what is inlined allocates less: as written, it allocates the same each time.
  "--single-threaded",
  "--no-opt",
  "--no-maglev",
];
/** In the order of system-calls.c. */
const SYSTEM_CALLS = ["reads", "writes", "syncs"] as const;

export const MEASURES = [
  "bytes",
  "functions",
  "nodeFunctions",
  "promises",
  "timers",
  "messages",
  ...SYSTEM_CALLS,
] as const;
export type Measure = (typeof MEASURES)[number];
/** Of each call, or of each chunk. */
export type Figures = Readonly<Record<Measure, number>>;

/** What is asked, one after the other. */
export type Asked = "chat call" | "action" | "short stream" | "long stream";
const SHORT_CHUNKS = 10;
const LONG_CHUNKS = 110;
/** How many are asked in a round: few enough that most rounds of a slow machine have nothing in them that comes by the clock. */
const ROUND: Readonly<Record<Asked, number>> = { "chat call": 5, action: 5, "short stream": 4, "long stream": 1 };
/** Before the first: what is made once is made. */
const WARM_ROUNDS = 10;

export interface CountedGateway {
  readonly pid: number;
  /** Asks `rounds` rounds, and answers the least of each measure in any. */
  count(asked: Asked, rounds: number): Promise<Figures>;
  stop(): Promise<void>;
}

/** `nodeFlags` beside those of every count. */
export async function startCountedGateway(
  processes: Processes,
  folder: string,
  nodeFlags: readonly string[] = [],
): Promise<CountedGateway> {
  mkdirSync(folder, { recursive: true });
  const library = join(folder, "system-calls.so");
  await compilePreloaded(join(HERE, "system-calls.c"), library);
  const callsFile = join(folder, "system-calls");
  const upstream = new LockstepUpstream();
  const subject = await startSubject("tollgate", {
    processes,
    upstreamPort: await upstream.listen(),
    folder,
    base: null,
    nodeFlags: [...FLAGS, "--import", join(HERE, "probe.ts"), ...nodeFlags],
    settings: {
      COUNTS_FOLDER: folder,
      LD_PRELOAD: library,
      SYSTEM_CALLS_FILE: callsFile,
      // What was kept of an earlier start is compiled otherwise than what was not.
      NODE_DISABLE_COMPILE_CACHE: "1",
    },
    say: () => {},
  });
  const { pid, child } = subject;
  if (pid === null || child === null) throw new Error("the gateway has no process");
  const counter = new Counter(pid, join(folder, String(pid)), callsFile);
  const warm = new Set<Asked>();
  const count = async (asked: Asked, rounds: number) => {
    const client = await openClient(subject, upstream, asked);
    if (!warm.has(asked)) for (let round = 0; round < WARM_ROUNDS; round++) await client.round();
    warm.add(asked);
    const found: Figures[] = [];
    for (let round = 0; round < rounds; round++) {
      await counter.clear();
      // What is made anew after a clearing, as what a regular expression was compiled to, is no call's.
      await client.call();
      await counter.read();
      await client.round();
      found.push(divided(await counter.read(), ROUND[asked]));
    }
    client.close();
    return least(found);
  };
  const stop = async () => {
    upstream.close();
    await processes.stop(child);
  };
  return { pid, count, stop };
}

/** What the process has done since it was read last. */
class Counter {
  readonly #pid: number;
  readonly #file: string;
  readonly #callsFile: string;
  #calls: readonly number[] = [];

  constructor(pid: number, file: string, callsFile: string) {
    this.#pid = pid;
    this.#file = file;
    this.#callsFile = callsFile;
  }

  async read(): Promise<Figures> {
    const bytes = readFileSync(this.#callsFile);
    const calls = SYSTEM_CALLS.map((_, at) => Number(bytes.readBigUInt64LE(at * 8)));
    const since = Object.fromEntries(SYSTEM_CALLS.map((name, at) => [name, (calls[at] ?? 0) - (this.#calls[at] ?? 0)]));
    const counted = (await this.#ask("SIGUSR2")) as Figures;
    const after = readFileSync(this.#callsFile);
    this.#calls = SYSTEM_CALLS.map((_, at) => Number(after.readBigUInt64LE(at * 8)));
    return { ...counted, ...since };
  }

  /** From here on there is room on the heap. */
  async clear(): Promise<void> {
    await this.#ask("SIGWINCH");
  }

  async #ask(signal: NodeJS.Signals): Promise<unknown> {
    rmSync(this.#file, { force: true });
    process.kill(this.#pid, signal);
    while (!existsSync(this.#file)) await sleep(2);
    return JSON.parse(readFileSync(this.#file, "utf8"));
  }
}

function divided(figures: Figures, by: number): Figures {
  return eachMeasure((measure) => figures[measure] / by);
}

/** What comes by the clock only adds: the round with the least of it says what the calls themselves take. */
export function least(rounds: readonly Figures[]): Figures {
  return eachMeasure((measure) => Math.min(...rounds.map((figures) => figures[measure])));
}

/** What a chunk adds to a stream. */
export function eachChunk(short: Figures, long: Figures): Figures {
  return eachMeasure((measure) => (long[measure] - short[measure]) / (LONG_CHUNKS - SHORT_CHUNKS));
}

function eachMeasure(figure: (measure: Measure) => number): Figures {
  return Object.fromEntries(MEASURES.map((measure) => [measure, figure(measure)])) as Record<Measure, number>;
}

function requestOf(subject: Subject, asked: Asked): { request: string; events: number } {
  if (asked === "chat call") return { request: requestText(subject, { stream: false }), events: 0 };
  if (asked === "action") return { request: searchText(subject), events: 0 };
  const chunks = asked === "short stream" ? SHORT_CHUNKS : LONG_CHUNKS;
  return { request: requestText(subject, { stream: true, chunks }), events: eventsOf(chunks) };
}

/** One connection that asks again when it has its answer. */
async function openClient(subject: Subject, upstream: LockstepUpstream, asked: Asked) {
  const { request, events } = requestOf(subject, asked);
  let ended = (_error?: Error) => {};
  const connection = new Connection({
    port: subject.port,
    onRead: (heard) => upstream.heard(heard),
    onEnd: (exchange) => {
      const whole = exchange.whole && exchange.events === events;
      ended(whole ? undefined : new Error(`${asked}: status ${exchange.status}, ${exchange.events} events`));
    },
  });
  await connection.ready;
  const call = () =>
    new Promise<void>((resolve, reject) => {
      ended = (error) => (error === undefined ? resolve() : reject(error));
      connection.send(request);
    });
  return {
    call,
    async round() {
      for (let calls = 0; calls < ROUND[asked]; calls++) await call();
    },
    close: () => connection.destroy(),
  };
}

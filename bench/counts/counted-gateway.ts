// A gateway whose work is counted one call at a time, with counts that do not depend on the machine or its load.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compilePreloaded } from "../../test/support/preloaded.ts";
import { Connection } from "../load/connection.ts";
import { askProbe } from "../measure.ts";
import type { Processes } from "../processes.ts";
import { type Subject, startSubject } from "../subjects.ts";
import { eventsOf, requestText, searchText } from "../workload.ts";
import { LockstepUpstream } from "./lockstep-upstream.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Size of the young generation in megabytes: many times what a round allocates, so that no collection runs meanwhile. */
const ROOM_MB = 64;
const FLAGS = [
  `--min-semi-space-size=${ROOM_MB}`,
  `--max-semi-space-size=${ROOM_MB}`,
  "--expose-gc",
  // The optimizer runs when the clock says so, and inlined code allocates less; without it, allocation is the same every time.
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
/** Per call, or per chunk. */
export type Figures = Readonly<Record<Measure, number>>;

/** The requests that are counted. */
export type Asked = "chat call" | "action" | "joined stream" | "short stream" | "long stream";
/** Their events arrive in one read. */
const JOINED_CHUNKS = 16;
const SHORT_CHUNKS = 10;
const LONG_CHUNKS = 110;
/** Requests per round: few enough that most rounds on a slow machine contain no timer work. */
const ROUND: Readonly<Record<Asked, number>> = {
  "chat call": 5,
  action: 5,
  "joined stream": 4,
  "short stream": 4,
  "long stream": 1,
};
/** Rounds before the first counted one, for one-time work. */
const WARM_ROUNDS = 10;

export type CountedGateway = Awaited<ReturnType<typeof startCountedGateway>>;

/** `nodeFlags` are added to those of every count. */
export async function startCountedGateway(processes: Processes, folder: string, nodeFlags: readonly string[] = []) {
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
      // Code from the compile cache is compiled differently from fresh code.
      NODE_DISABLE_COMPILE_CACHE: "1",
    },
    say: () => {},
  });
  const { pid, child } = subject;
  if (pid === null || child === null) throw new Error("the gateway has no process");
  const counter = new Counter(pid, join(folder, String(pid)), callsFile);
  const warm = new Set<Asked>();
  /** Runs `rounds` rounds; returns each measure's minimum. */
  const count = async (asked: Asked, rounds: number) => {
    const client = await openClient(subject, upstream, asked);
    if (!warm.has(asked)) for (let round = 0; round < WARM_ROUNDS; round++) await client.round();
    warm.add(asked);
    const found: Figures[] = [];
    for (let round = 0; round < rounds; round++) {
      await counter.clear();
      // What is rebuilt after a collection, such as compiled regular expressions, belongs to no call.
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

/** What the process has done since the last reading. */
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
    const counted = JSON.parse(await askProbe(this.#pid, this.#file)) as Figures;
    const after = readFileSync(this.#callsFile);
    this.#calls = SYSTEM_CALLS.map((_, at) => Number(after.readBigUInt64LE(at * 8)));
    return { ...counted, ...since };
  }

  /** Collects garbage, so that the heap has room. */
  async clear(): Promise<void> {
    await askProbe(this.#pid, this.#file, "SIGWINCH");
  }
}

function divided(figures: Figures, by: number): Figures {
  return eachMeasure((measure) => figures[measure] / by);
}

/** Timer work only adds to a round, so the minimum is what the calls themselves take. */
export function least(rounds: readonly Figures[]): Figures {
  return eachMeasure((measure) => Math.min(...rounds.map((figures) => figures[measure])));
}

/** What each chunk adds to a stream. */
export function eachChunk(short: Figures, long: Figures): Figures {
  return eachMeasure((measure) => (long[measure] - short[measure]) / (LONG_CHUNKS - SHORT_CHUNKS));
}

function eachMeasure(figure: (measure: Measure) => number): Figures {
  return Object.fromEntries(MEASURES.map((measure) => [measure, figure(measure)])) as Record<Measure, number>;
}

function requestOf(subject: Subject, asked: Asked): { request: string; events: number } {
  if (asked === "chat call") return { request: requestText(subject, { stream: false }), events: 0 };
  if (asked === "action") return { request: searchText(subject), events: 0 };
  const joined = asked === "joined stream";
  const chunks = joined ? JOINED_CHUNKS : asked === "short stream" ? SHORT_CHUNKS : LONG_CHUNKS;
  const request = requestText(subject, { stream: true, chunks, perSecond: joined ? 0 : 1 });
  return { request, events: eventsOf(chunks) };
}

/** One connection that sends its next request after each answer. */
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

// The events of one simulated run, as data that can be stored and shortened: gateways, accounts, calls, and all faults.
import { type Chance, chanceFrom } from "./random.ts";

export interface AccountPlan {
  readonly creditNano: number;
  readonly ceilingNano: number | null;
  readonly inFlightMax: number;
}

export interface RunPlan {
  readonly account: number;
  readonly budgetNano: number;
  /** Its place in the list of runs; null: none. */
  readonly parent: number | null;
}

/** A client's wish, which it repeats until it succeeds or gives up. */
export interface CallPlan {
  readonly id: number;
  readonly account: number;
  /** The place of its run in the list of runs; absent: none. */
  readonly run?: number;
  readonly atMs: number;
  /** The gateways of its tries, in order. */
  readonly gateways: readonly number[];
  readonly idempotencyKey: string | null;
  /** Sent twice at the same time. */
  readonly twice: boolean;
  readonly effect: "read" | "write";
  readonly streamed: boolean;
  /** Continues when its client leaves. */
  readonly finishes: boolean;
  readonly holdNano: number;
  /** The tighter bound, where there is one. */
  readonly tightNano: number | null;
  /** Its hold grows while it runs, and its recorded use decides the charge. Absent: no. */
  readonly metered?: boolean;
  readonly pieces: number;
  readonly pieceNano: number;
  readonly firstMs: number;
  readonly pieceMs: number;
}

/** Work that is launched and continues after its request has been answered. */
export interface JobPlan {
  readonly id: number;
  readonly account: number;
  readonly run?: number;
  readonly atMs: number;
  /** The gateways that its launcher tries, in order. */
  readonly gateways: readonly number[];
  readonly idempotencyKey: string | null;
  readonly budgetNano: number;
  readonly steps: number;
  readonly stepMs: number;
  readonly stepNano: number;
  readonly stepUpstreamNano: number;
  /** A process that sends the `nth` message for it dies, before or after sending. */
  readonly deaths: readonly { readonly nth: number; readonly isSent: boolean; readonly forMs: number }[];
}

/** The credential of a call or launch: its account, and its run if it has one. */
export function tokenOf({ account, run }: Pick<CallPlan, "account" | "run">): string {
  return run === undefined ? String(account) : `${account}+${run}`;
}

/** A run and its ancestors, by their places, its own first. */
export function lineageOf(runs: readonly RunPlan[], at: number): readonly number[] {
  const parent = runs[at]?.parent ?? null;
  return parent === null ? [at] : [at, ...lineageOf(runs, parent)];
}

export type MessageFault = "drop-request" | "drop-reply" | "delay-request" | "delay-reply" | "duplicate";
export type UpstreamFault = "refuses" | "rejects" | "fails" | "breaks" | "hangs" | "is-silent";

/** All possible faults. `nth` counts the messages of a kind, `times` are in a row, `ask` counts the calls to a call's upstream. */
export type Fault =
  | {
      readonly kind: MessageFault;
      readonly operation: string;
      readonly nth: number;
      readonly times: number;
      readonly ms: number;
    }
  | { readonly kind: "cut"; readonly gateway: number; readonly atMs: number; readonly forMs: number }
  /** No answered change is lost; of the others, the share `kept` survives. */
  | { readonly kind: "store-crash"; readonly atMs: number; readonly forMs: number; readonly kept: number }
  /** The changes of the last `lostMs` are lost, answered or not. */
  | { readonly kind: "store-forgets"; readonly atMs: number; readonly forMs: number; readonly lostMs: number }
  | {
      readonly kind: "gateway-crash";
      readonly gateway: number;
      readonly atMs: number;
      readonly forMs: number;
      readonly kept: number;
    }
  | { readonly kind: "disk-full"; readonly gateway: number; readonly atMs: number; readonly forMs: number }
  | {
      readonly kind: "clock";
      readonly gateway: number;
      readonly atMs: number;
      readonly forMs: number;
      readonly offsetMs: number;
    }
  | { readonly kind: UpstreamFault; readonly call: number; readonly ask: number }
  | { readonly kind: "leaves"; readonly call: number; readonly attempt: number; readonly afterMs: number }
  | {
      readonly kind: "slow";
      readonly call: number;
      readonly attempt: number;
      readonly afterMs: number;
      readonly forMs: number;
    };

export interface Scenario {
  /** Decides the duration of every message and all other randomness. */
  readonly seed: number;
  /** The wall clock at the start. */
  readonly startMs: number;
  readonly gateways: number;
  readonly accounts: readonly AccountPlan[];
  /** The bound on each account's unpaid cost in a day; absent or null: no bound. */
  readonly unpaidNano?: number | null;
  readonly calls: readonly CallPlan[];
  /** Absent in scenarios stored before there were runs. */
  readonly runs?: readonly RunPlan[];
  /** Absent in scenarios stored before there were jobs. */
  readonly jobs?: readonly JobPlan[];
  readonly faults: readonly Fault[];
}

/** Calls begin, and faults happen, before this time. */
export const BUSY_MS = 150_000;
const CALLS = 24;
const MORNING_MS = Date.UTC(2026, 2, 12, 10);
const MONTH_END_MS = Date.UTC(2026, 3, 1);
const OPERATIONS = [
  "reserve",
  "reserve",
  "post",
  "post",
  "void",
  "extend",
  "extend",
  "renew",
  "sweep",
  "get",
  "put",
  "settleOrphan",
  "transaction",
] as const;

type Maker = (chance: Chance, scene: { gateways: number }) => Fault;

const message =
  (kind: MessageFault): Maker =>
  (chance) => ({
    kind,
    operation: chance.of(OPERATIONS),
    nth: chance.whole(0, CALLS),
    times: chance.happens(0.5) ? 1 : chance.whole(2, 5),
    ms: chance.happens(0.3) ? chance.between(1_000, 90_000) : chance.between(10, 1_500),
  });
const asked =
  (kind: UpstreamFault): Maker =>
  (chance) => ({ kind, call: chance.whole(0, CALLS - 1), ask: chance.happens(0.7) ? 0 : 1 });
/** Many events share the same few moments. */
const rush = (chance: Chance) => chance.whole(0, 9) * (BUSY_MS / 10);
/** Usually short, sometimes longer than a lease. */
const outage = (chance: Chance) => ({
  atMs: chance.happens(0.5) ? rush(chance) + chance.between(0, 4_000) : chance.between(0, BUSY_MS),
  forMs: chance.happens(0.25) ? chance.between(30_000, 100_000) : chance.between(200, 10_000),
});
const some = (chance: Chance, { gateways }: { gateways: number }) => chance.whole(0, gateways - 1);

/** The most of each kind, and how to make one. */
const KINDS: Readonly<Record<Fault["kind"], readonly [most: number, make: Maker]>> = {
  "drop-request": [8, message("drop-request")],
  "drop-reply": [8, message("drop-reply")],
  "delay-request": [8, message("delay-request")],
  "delay-reply": [8, message("delay-reply")],
  duplicate: [8, message("duplicate")],
  cut: [3, (chance, scene) => ({ kind: "cut", gateway: some(chance, scene), ...outage(chance) })],
  "store-crash": [2, (chance) => ({ kind: "store-crash", ...outage(chance), kept: chance.next() })],
  "store-forgets": [
    2,
    (chance) => ({
      kind: "store-forgets",
      ...outage(chance),
      lostMs: chance.between(1, chance.happens(0.5) ? 3_000 : 15_000),
    }),
  ],
  "gateway-crash": [
    4,
    (chance, scene) => ({
      kind: "gateway-crash",
      gateway: some(chance, scene),
      ...outage(chance),
      kept: chance.next(),
    }),
  ],
  "disk-full": [2, (chance, scene) => ({ kind: "disk-full", gateway: some(chance, scene), ...outage(chance) })],
  clock: [
    2,
    (chance, scene) => ({
      kind: "clock",
      gateway: some(chance, scene),
      ...outage(chance),
      offsetMs: chance.of([-20_000, 20_000, -90_000, 90_000, 3_600_000]),
    }),
  ],
  refuses: [4, asked("refuses")],
  rejects: [3, asked("rejects")],
  fails: [8, asked("fails")],
  breaks: [4, asked("breaks")],
  hangs: [5, asked("hangs")],
  "is-silent": [2, asked("is-silent")],
  leaves: [
    8,
    (chance) => ({
      kind: "leaves",
      call: chance.whole(0, CALLS - 1),
      attempt: chance.whole(0, 1),
      afterMs: chance.of([chance.between(0, 50), chance.between(50, 4_000), chance.between(4_000, 20_000)]),
    }),
  ],
  slow: [
    3,
    (chance) => ({
      kind: "slow",
      call: chance.whole(0, CALLS - 1),
      attempt: 0,
      afterMs: chance.between(0, 5_000),
      // A client that delays an answer for more than five seconds pays for what it got, whichever side breaks it; other tests cover that.
      forMs: chance.between(100, 2_000),
    }),
  ],
};

function callPlan(
  id: number,
  chance: Chance,
  { gateways, accounts }: { gateways: number; accounts: number },
): CallPlan {
  const holdNano = chance.whole(1, 60) * 1_000_000 + chance.whole(0, 999_999);
  const pieces = chance.whole(1, 5);
  // Sometimes an answer costs more than the hold.
  const wholeNano = holdNano * (chance.happens(0.1) ? 1.5 : chance.between(0.1, 1));
  const effect = chance.happens(0.4) ? "write" : "read";
  const streamed = chance.happens(0.5);
  const idempotencyKey = chance.happens(0.7) ? `key-${id}` : null;
  // A failed call's recorded use is charged, which its key would have to account for.
  const metered = idempotencyKey === null && chance.happens(0.4);
  const hurried = chance.happens(0.8);
  return {
    ...{ id, effect, streamed, holdNano, pieces },
    account: chance.whole(0, accounts - 1),
    // Many arrive together, so that sequential steps also run concurrently.
    atMs: chance.happens(0.5) ? rush(chance) + chance.between(0, 30) : chance.between(0, BUSY_MS),
    gateways: Array.from({ length: 6 }, () => chance.whole(0, gateways - 1)),
    idempotencyKey,
    twice: chance.happens(0.15),
    // As in real plans: a write never stops halfway.
    finishes: effect === "write" || chance.happens(0.25),
    tightNano: !metered && chance.happens(0.3) ? Math.floor(holdNano / 2) : null,
    metered,
    pieceNano: Math.floor(wholeNano / pieces),
    firstMs: hurried ? chance.between(5, 2_000) : chance.between(2_000, 80_000),
    pieceMs: hurried ? chance.between(1, 1_500) : chance.between(500, 20_000),
  };
}

const JOBS_MAX = 8;
/** The messages that a job of few steps sends, from its announcement to its end. */
const JOB_MESSAGES = 24;
/** Jobs draw from their own random stream, so that a scenario has the same calls and faults with and without them. */
const JOBS_STREAM = 7_919;
/** A separate stream, so that the bound on unpaid cost changes nothing else of a seed. */
const UNPAID_STREAM = 15_485_863;
const RUNS_STREAM = 32_452_843;
const RUNS_MAX = 5;

function jobPlan(id: number, chance: Chance, { gateways, accounts }: { gateways: number; accounts: number }): JobPlan {
  const stepNano = chance.whole(1, 10) * 1_000_000 + chance.whole(0, 999_999);
  const steps = chance.whole(1, 5);
  return {
    id,
    account: chance.whole(0, accounts - 1),
    atMs: chance.happens(0.5) ? rush(chance) + chance.between(0, 30) : chance.between(0, BUSY_MS),
    gateways: Array.from({ length: 3 }, () => chance.whole(0, gateways - 1)),
    idempotencyKey: chance.happens(0.5) ? `launch-${id}` : null,
    // Sometimes the budget ends before the steps do.
    budgetNano: chance.happens(0.2) ? Math.ceil((steps * stepNano) / 2) : steps * stepNano,
    steps,
    stepMs: chance.happens(0.8) ? chance.between(5, 3_000) : chance.between(3_000, 15_000),
    stepNano,
    stepUpstreamNano: Math.floor(stepNano * chance.next()),
    deaths: Array.from({ length: chance.happens(0.5) ? chance.whole(1, 3) : 0 }, () => ({
      nth: chance.whole(0, JOB_MESSAGES),
      isSent: chance.happens(0.5),
      forMs: chance.happens(0.8) ? chance.between(200, 5_000) : chance.between(15_000, 60_000),
    })),
  };
}

function jobsOf(seed: number, scene: { gateways: number; accounts: number }): JobPlan[] {
  const chance = chanceFrom(seed + JOBS_STREAM);
  const count = chance.happens(0.5) ? chance.whole(1, JOBS_MAX) : 0;
  return Array.from({ length: count }, (_, id) => jobPlan(id, chance, scene));
}

/** Some runs, each maybe below an earlier one of its account. */
function runsOf(chance: Chance, accounts: number): RunPlan[] {
  const runs: RunPlan[] = [];
  const count = chance.happens(0.6) ? chance.whole(1, RUNS_MAX) : 0;
  while (runs.length < count) {
    const account = chance.whole(0, accounts - 1);
    const above = [...runs.keys()].filter((at) => runs[at]?.account === account);
    const parent = above.length > 0 && chance.happens(0.6) ? (above[chance.whole(0, above.length - 1)] ?? null) : null;
    runs.push({ account, budgetNano: chance.whole(2, 30) * 10_000_000, parent });
  }
  return runs;
}

/** Puts most of the work of an account with runs into one of them. */
function inRuns<T extends { readonly account: number }>(work: readonly T[], runs: readonly RunPlan[], chance: Chance) {
  return work.map((one) => {
    const own = [...runs.keys()].filter((at) => runs[at]?.account === one.account);
    return own.length > 0 && chance.happens(0.8) ? { ...one, run: own[chance.whole(0, own.length - 1)] } : one;
  });
}

/** The scenario of a seed, with a random half of the kinds of faults disabled. */
export function scenarioOf(seed: number): Scenario {
  const chance = chanceFrom(seed);
  const gateways = chance.whole(1, 4);
  const accounts = Array.from(
    { length: chance.whole(1, 2) },
    (): AccountPlan => ({
      creditNano: chance.whole(5, 80) * 10_000_000 + chance.whole(0, 9_999_999),
      ceilingNano: chance.happens(0.3) ? chance.whole(5, 40) * 10_000_000 : null,
      inFlightMax: chance.happens(0.3) ? chance.whole(1, 4) : 64,
    }),
  );
  const calls = Array.from({ length: CALLS }, (_, id) => callPlan(id, chance, { gateways, accounts: accounts.length }));
  const faults = Object.values(KINDS)
    .filter(() => chance.happens(0.5))
    .flatMap(([most, make]) => Array.from({ length: chance.whole(1, most) }, () => make(chance, { gateways })));
  const startMs = chance.happens(0.8) ? MORNING_MS : MONTH_END_MS - chance.between(0, BUSY_MS);
  const unpaid = chanceFrom(seed + UNPAID_STREAM);
  const unpaidNano = unpaid.happens(0.4) ? unpaid.whole(1, 8) * 5_000_000 : null;
  const jobs = jobsOf(seed, { gateways, accounts: accounts.length });
  const runChance = chanceFrom(seed + RUNS_STREAM);
  const runs = runsOf(runChance, accounts.length);
  const work = { calls: inRuns(calls, runs, runChance), jobs: inRuns(jobs, runs, runChance) };
  return { seed, startMs: Math.floor(startMs), gateways, accounts, unpaidNano, runs, ...work, faults };
}

// The pipeline over a real store in a temporary folder, with an upstream that a test scripts.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/core/clock.ts";
import type { Endpoint, Frame, FramedPlan } from "../../src/core/endpoint.ts";
import type { FailureKind } from "../../src/core/failures.ts";
import { nano, ZERO } from "../../src/core/money.ts";
import type { Caller, Plan } from "../../src/core/plan.ts";
import type { AnswerSink, Candidate, Reading } from "../../src/core/route.ts";
import type { ServeDeps } from "../../src/edge/serve/deps.ts";
import { serve } from "../../src/edge/serve/serve.ts";
import { openStores, type Stores } from "../../src/gateway/stores.ts";
import { ladder } from "../../src/kernel/routes/ladder.ts";
import { retrying } from "../../src/kernel/routes/retrying.ts";
import { createWindows } from "../../src/kernel/windows.ts";
import { chatErrors } from "../../src/models/formats/chat-completions/wire.ts";
import type { Ledger } from "../../src/money/ledger/model/ledger.ts";
import { Runs } from "../../src/money/runs/runs.ts";
import { readConfig } from "../../src/platform/config.ts";
import { AnswerBytes } from "../../src/platform/limits/answer-bytes.ts";
import { createLog } from "../../src/platform/observe/log.ts";
import { createObserver } from "../../src/platform/observe/observer.ts";
import { newAccount } from "../money/ledger/requests.ts";
import { createMemoryReply, type MemoryReply } from "./memory-reply.ts";
import { removeFolder } from "./remove-folder.ts";

const ACCOUNT = "ada";
export const USAGE = { inputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 5, reasoningTokens: 0 };
export const READING: Reading = {
  usage: USAGE,
  delivered: { text: "hi", bytes: 2 },
  upstreamCostNano: null,
  skippedEvents: 0,
};

export const HOLD = nano(1_000);
export const COST = nano(400);
/** The cost of an answer whose client has left. */
export const COST_LEFT = nano(150);

export const CALLER: Caller = {
  sandbox: false,
  payer: { id: `acct:${ACCOUNT}`, accountId: ACCOUNT, keyId: `${ACCOUNT}.key`, sandbox: false },
  primary: true,
  paused: false,
  frozen: false,
  requestsPerMinute: 600,
  inFlightMax: 64,
  inferenceCapNano: nano(1e12),
  strictBounds: false,
  allows: { services: null, models: null },
};

/** An attempt that the test scripts, and what the pipeline did to it. */
export interface Scripted {
  readonly sink: AnswerSink;
  readonly calls: string[];
  /** Whether the vendor has the request; the test sets it. */
  accepted: boolean;
  content(text: string): void;
  done(): void;
  fail(kind: FailureKind): void;
}

/** A running call. */
export interface Running {
  readonly reply: MemoryReply;
  readonly over: Promise<void>;
  /** The attempts in the order in which they began; waits for the one at `at`. */
  attempt(at: number): Promise<Scripted>;
  readonly attempts: readonly Scripted[];
}

/** A test's changes to a plan, to the form of its answer, or to the candidates of its ladder. */
export type PlanChanges = Partial<Plan> &
  Partial<Pick<FramedPlan, "frame" | "keepAliveMs">> & { readonly candidates?: readonly Candidate[] };

export interface Stage {
  readonly stores: Stores;
  /** Log lines and errors since the last `begin`. */
  readonly lines: Record<string, unknown>[];
  readonly broken: unknown[];
  /** The names of the ledger calls that move money, in order. */
  readonly moves: string[];
  begin(changes?: {
    plan?: PlanChanges;
    deps?: Partial<ServeDeps>;
    ledger?: Partial<Ledger>;
    /** How long candidates are still read after their client has left. */
    readOnMsMax?: number;
  }): Running;
  spentNano(): Promise<number>;
  /** Ends the open holds, as after a crash, and returns their names. */
  holdsLeft(): Promise<readonly string[]>;
  close(): Promise<void>;
}

function scripted(sink: AnswerSink): Scripted {
  return {
    sink,
    calls: [],
    accepted: false,
    content: (text) => sink.content(Buffer.from(text)),
    done: () => sink.done({ kind: "stream", tail: Buffer.from("tail ") }),
    fail: (kind) => sink.failed({ kind, status: 500, message: "", retryAfterMs: null }),
  };
}

function candidateOf(name: string, readOnMsMax: number, opened: (one: Scripted) => void): Candidate {
  return {
    provider: name,
    model: `${name}/small`,
    healthKey: name,
    firstTokenMsMax: 1_000,
    lastFirstTokenMsMax: 1_000,
    readOnMsMax,
    pointlessAfter: () => false,
    open(sink) {
      const one = scripted(sink);
      opened(one);
      return {
        pause: () => void one.calls.push("pause"),
        resume: () => void one.calls.push("resume"),
        abort: () => void one.calls.push("abort"),
        reading: () => READING,
        accepted: () => one.accepted,
      };
    },
  };
}

/** A plan over these candidates that costs `COST`. */
export function planOver(candidates: readonly Candidate[], changes: PlanChanges): FramedPlan {
  const { frame, keepAliveMs = null, candidates: others, ...changed } = changes;
  const plan: Plan = {
    operation: "chat",
    asked: "acme/small",
    streamed: true,
    effect: "read",
    quote: { nano: HOLD, tighten: null, affordable: () => ({}), upstreamNano: () => HOLD },
    hold: { kind: "call" },
    whilePaused: false,
    maxCostNano: null,
    prepare: null,
    slots: [],
    inference: true,
    idempotency: null,
    route: ladder((others ?? candidates).map(retrying)),
    wholeMsMax: 5_000,
    attemptsMax: 3,
    failedStatus: 502,
    timedOutStatus: 504,
    whenCallerLeaves: "abort",
    cost: (_served, _reading, ended) => ({
      chargeNano: ended === "left" ? COST_LEFT : COST,
      upstreamNano: ZERO,
      usage: USAGE,
      estimated: ended === "left",
      priceVersion: "1",
    }),
    ...changed,
  };
  return { plan, frame: frame ?? FRAME, keepAliveMs };
}

const FRAME: Frame = {
  head: (reply, served) => reply.header("x-served", served.model),
  last: () => "end",
  broken: (error) => `broken ${error.code}`,
  keepAlive: { text: "alive ", headers: (reply) => reply.header("x-alive", "1") },
};

/** A window that counts nothing. */
const untouched: ServeDeps["takeWindow"] = (_kind, _key, limit) => {
  return { allowed: true, limit, remaining: limit, resetSeconds: 1, windowSeconds: 60 };
};

/** What a call needs besides its plan: the stores; every caller is `CALLER`, and nothing else blocks it. */
export function scriptedDeps({
  stores,
  lines,
  broken,
}: {
  readonly stores: Pick<Stores, "ledger" | "records">;
  readonly lines: Record<string, unknown>[];
  readonly broken: unknown[];
}): ServeDeps {
  const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const log = createLog({ level: "info", clock: systemClock, stream });
  return {
    clock: systemClock,
    observer: createObserver({ clock: systemClock, log, isKnown: () => true }),
    ledger: stores.ledger,
    windows: createWindows(null),
    records: stores.records,
    runs: new Runs({
      ...{ records: stores.records, books: stores.ledger, clock: systemClock, hears: () => true },
      ...{ forget() {}, onBroken: (error) => void broken.push(error) },
    }),
    keptBytesMax: 16 * 1024 * 1024,
    leases: { keep() {}, release() {} },
    answers: new AnswerBytes({ bytesMax: 1e9, ownerBytesMax: 1e9 }),
    health: { order: (routes) => routes, trying() {}, good() {}, bad() {}, unknown() {} },
    keeper: {
      announce: () => Promise.reject(new Error("nothing is kept here")),
      dismiss: () => Promise.resolve(),
      takeOver: () => Promise.reject(new Error("nothing is kept here")),
    },
    anonymousPayer: null,
    forget() {},
    authenticate: () => CALLER,
    isAdmin: () => false,
    takeWindow: untouched,
    peekWindow: untouched,
    addressRequestsPerMinute: 600,
    owner: "process-1",
    leaseMs: 60_000,
    draining: () => false,
    onBroken: (error) => broken.push(error),
  };
}

/** Opens the stores and an account with a dollar. Closing removes the folder. */
export async function openStage(folder = mkdtempSync(join(tmpdir(), "tollgate-stage-"))): Promise<Stage> {
  const stores = await openStores(readConfig({ DATA_DIR: folder }), {
    onFatal(error) {
      throw error;
    },
  });
  await stores.ledger.openAccount(newAccount(ACCOUNT, 100));
  const lines: Record<string, unknown>[] = [];
  const broken: unknown[] = [];
  const moves: string[] = [];
  let number = 0;

  function ledgerWith(changes: Partial<Ledger>): Ledger {
    const ledger = { ...stores.ledger, ...changes };
    return {
      ...ledger,
      reserve: (request) => {
        moves.push("reserve");
        return ledger.reserve(request);
      },
      post: (posting) => {
        moves.push(`post ${posting.amountNano}`);
        return ledger.post(posting);
      },
      void: (hold, reason, end) => {
        moves.push(`void ${reason}`);
        return ledger.void(hold, reason, end);
      },
    };
  }

  return {
    stores,
    lines,
    broken,
    moves,
    begin({ plan = {}, deps = {}, ledger = {}, readOnMsMax = 0 } = {}) {
      for (const list of [lines, broken, moves]) list.length = 0;
      const attempts: Scripted[] = [];
      const waiting: (() => void)[] = [];
      const opened = (one: Scripted) => {
        attempts.push(one);
        for (const wake of waiting.splice(0)) wake();
      };
      const candidates = ["acme", "other"].map((name) => candidateOf(name, readOnMsMax, opened));
      const endpoint: Endpoint = {
        method: "POST",
        path: "/paid",
        auth: "key",
        bodyBytesMax: 1_000,
        errors: chatErrors,
        plan: () => planOver(candidates, plan),
      };
      const reply = createMemoryReply();
      const request = {
        id: `req_${++number}`,
        method: "POST",
        path: "/paid",
        query: new URLSearchParams(),
        params: {},
        headers: new Map<string, string>(),
        body: Buffer.from("{}"),
        address: "127.0.0.1",
        startedMs: systemClock.elapsedMs(),
      };
      const over = serve(request, endpoint, reply, {
        ...scriptedDeps({ stores, lines, broken }),
        ledger: ledgerWith(ledger),
        ...deps,
      });
      return {
        reply,
        over,
        attempts,
        async attempt(at) {
          for (;;) {
            const one = attempts[at];
            if (one !== undefined) return one;
            await new Promise<void>((wake) => waiting.push(wake));
          }
        },
      };
    },
    spentNano: async () => (await stores.ledger.account(ACCOUNT))?.spentNano ?? -1,
    holdsLeft: () => stores.ledger.sweep(100, "another process"),
    async close() {
      await stores.close();
      removeFolder(folder);
    },
  };
}

// The one attempt of a call with a tool loop: a route to the kernel; rounds and actions are inner calls under one posting.
import { GatewayError } from "../../core/errors.ts";
import type { FailureKind } from "../../core/failures.ts";
import { type Nano, ZERO } from "../../core/money.ts";
import type { NeutralEvent } from "../../core/neutral.ts";
import type { Cost } from "../../core/plan.ts";
import type {
  AnswerSink,
  AttemptFailure,
  Candidate,
  Leg,
  Reading,
  Route,
  RouteAttempt,
  Taken,
  Tries,
} from "../../core/route.ts";
import type { PlannedCalls } from "../../kernel/inner-call.ts";
import { upstreamOf } from "../../kernel/legs.ts";
import { Spend } from "../../kernel/parent-funds.ts";
import { type ActingCall, ActingRun, type RoundReader, type RunEnd } from "./acting-run.ts";
import { ActionCalls } from "./action-calls.ts";
import type { ActingDeps } from "./deps.ts";

/** The provider name until a model has begun to answer. */
const OURSELVES = "tollgate";
/** While an action runs, a keep-alive goes to the client at this interval. */
const KEEP_ALIVE_MS = 10_000;

export interface ActingParts {
  readonly acting: ActingCall;
  readonly id: string;
  readonly requestId: string;
  readonly sandboxFault: string | null;
  readonly callsMax: number;
  /** The stream's keep-alive bytes; null where it has none. */
  readonly keepAlive: string | null;
  readonly deps: ActingDeps;
}

/** Lets the kernel ask for the cost once the attempt has ended, for whatever reason. */
export interface ActingCost {
  cost(): Promise<Cost>;
}

function failureOf(told: GatewayError): AttemptFailure {
  const kind = told.status < 500 ? "caller_invalid" : "gateway_internal";
  return { kind, status: told.status, message: told.message, retryAfterMs: null, told };
}

/** Stands in for the serving model. `round` is the first answering round's candidate; null before any has answered. */
export interface ActingCandidate extends Candidate {
  readonly round: Candidate | null;
}

export class ActingAttempt implements RouteAttempt, RoundReader, ActingCost {
  readonly #parts: ActingParts;
  readonly #sink: AnswerSink;
  readonly #tries: Tries;
  readonly #stop = new AbortController();
  readonly #left = new AbortController();
  readonly #spend: Spend;
  readonly #calls: PlannedCalls;
  #gone = () => {};
  #room = () => {};
  #isPaused = false;
  first: Candidate | null = null;
  readonly #run: ActingRun;
  /** Resolves when all inner work has ended and the call has all its legs. */
  readonly #settled: Promise<void>;
  readonly #candidate: Candidate;
  #running = 0;
  #keepAlive: NodeJS.Timeout | null = null;
  #over = false;

  constructor(
    parts: ActingParts,
    limitNano: Nano,
    { sink, tries }: { readonly sink: AnswerSink; readonly tries: Tries },
  ) {
    const { acting, deps, id, requestId, sandboxFault, callsMax } = parts;
    this.#parts = parts;
    this.#sink = sink;
    this.#tries = tries;
    this.#spend = new Spend(limitNano, "price");
    const { payer, tools, transcript } = acting;
    const { deadlineMs } = tries;
    const { signal } = this.#stop;
    this.#calls = deps.innerCalls({
      id,
      requestId,
      payer,
      signal,
      deadlineMs,
      spend: this.#spend,
      sandboxFault,
      legs: [],
    });
    const own = { calls: this.#calls, spend: this.#spend, deps };
    const tell = (event: NeutralEvent) => {
      this.#keepsAlive(event);
      this.content(transcript.write(event));
    };
    const actions = new ActionCalls({ ...own, tools, payer, callsMax, deadlineMs, left: this.#left.signal, tell });
    this.#run = new ActingRun({ ...acting, ...own, actions, reader: this });
    this.#candidate = this.#served(acting);
    // The caller must have the attempt before it gets any event.
    this.#settled = Promise.resolve().then(() => this.#go());
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#room();
  }

  get closed(): boolean {
    return this.#over;
  }

  begins(): void {
    this.#gone = () => {};
    this.#room = () => {};
  }

  onGone(listener: () => void): void {
    this.#gone = listener;
  }

  onRoom(listener: () => void): void {
    this.#room = listener;
  }

  admitted(): void {}

  begin(served: Candidate, legs: readonly Leg[]): void {
    if (this.first !== null) return;
    this.first = served;
    this.#tell(legs);
  }

  write(bytes: Uint8Array): boolean {
    this.content(bytes);
    return !this.#isPaused;
  }

  content(bytes: Uint8Array): void {
    if (!this.#over && bytes.length > 0) this.#sink.content(bytes);
  }

  /** Who disconnects pays for what was done: the round ends like any abandoned call, actions finish. Any other reason stops all. */
  abort(why: FailureKind): void {
    if (this.#over) return;
    this.#over = true;
    this.#gone();
    this.#left.abort();
    if (why !== "caller_cancelled") this.#stop.abort();
    this.resume();
    this.#tries.taken.push(this.#taken());
  }

  accepted(): boolean {
    return true;
  }

  reading(): Reading {
    const { usage } = this.#run.totals();
    return { usage, delivered: { text: "", bytes: 0 }, upstreamCostNano: null, skippedEvents: 0 };
  }

  served(): Candidate {
    return this.#candidate;
  }

  async cost(): Promise<Cost> {
    await this.#settled;
    const { usage, estimated, priceVersion, uses } = this.#run.totals();
    const upstreamNano = upstreamOf(this.#calls.legs());
    return { chargeNano: this.#spend.spentNano, upstreamNano, usage, estimated, priceVersion, actions: uses };
  }

  /** Stands in for the model that has begun to answer. It never opens anything itself: its rounds do. */
  #served({ call }: ActingCall): ActingCandidate {
    const run = this.#run;
    const none = () => {
      throw new Error("a model that acts is opened by its route");
    };
    return {
      get provider() {
        return run.served?.provider ?? OURSELVES;
      },
      get model() {
        return run.served?.model ?? "";
      },
      get round() {
        return run.served;
      },
      healthKey: `acting:${call.request.path}`,
      firstTokenMsMax: 0,
      lastFirstTokenMsMax: 0,
      readOnMsMax: 0,
      pointlessAfter: () => false,
      open: none,
    };
  }

  async #go(): Promise<void> {
    let end: RunEnd;
    try {
      end = await this.#run.run();
    } catch (broken) {
      this.#parts.deps.onBroken(broken, this.#parts.requestId);
      end = new GatewayError("internal_error", { cause: broken });
    }
    this.#quiet();
    this.#tell(await this.#calls.ended());
    if (this.#over || end === null) return;
    this.#over = true;
    if (!(end instanceof GatewayError)) return this.#sink.done(end);
    const failure = failureOf(end);
    this.#tries.failures.push(failure);
    this.#sink.failed(failure);
  }

  /** Replaces the call's legs by those of its rounds and actions. */
  #tell(legs: readonly Leg[]): void {
    this.#tries.legs.splice(0, this.#tries.legs.length, ...legs);
  }

  /** Makes settlement wait for running inner work, whose legs it still needs. */
  #taken(): Taken {
    const leg: Leg = {
      provider: OURSELVES,
      model: "",
      status: 0,
      failure: null,
      ms: 0,
      firstTokenMs: null,
      upstreamNano: ZERO,
    };
    const inner = this.#settled.then(() => []);
    return { leg, candidate: this.#candidate, reading: this.reading(), ended: "left", accepted: false, inner };
  }

  #keepsAlive({ kind }: NeutralEvent): void {
    if (kind === "action-begun") this.#running += 1;
    if (kind === "action-done") this.#running -= 1;
    const { keepAlive } = this.#parts;
    if (this.#running === 0 || keepAlive === null) return this.#quiet();
    this.#keepAlive ??= setInterval(() => this.content(Buffer.from(keepAlive)), KEEP_ALIVE_MS);
  }

  #quiet(): void {
    if (this.#keepAlive !== null) clearInterval(this.#keepAlive);
    this.#keepAlive = null;
  }
}

/** The route of an answer that may cost up to `limitNano`. `opened` receives the attempt, for its cost. */
export function actingRoute(parts: ActingParts, limitNano: Nano, opened: (attempt: ActingCost) => void): Route {
  let serving: Candidate | null = null;
  return {
    candidate: null,
    has: (candidate) => candidate === serving,
    pointlessAfter: () => false,
    open(sink, tries) {
      const attempt = new ActingAttempt(parts, limitNano, { sink, tries });
      serving = attempt.served();
      opened(attempt);
      return attempt;
    },
  };
}

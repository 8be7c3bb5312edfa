// The candidate of an action that we serve ourselves: a function in the place of a vendor, which may make calls of its own.
import type { Params } from "../catalog/action.ts";
import type { LocalAction, LocalCall } from "../catalog/local-action.ts";
import { GatewayError } from "../errors.ts";
import type { CountedCalls } from "../kernel/inner-call.ts";
import { Spend } from "../kernel/parent-funds.ts";
import { nanoFromCents } from "../money.ts";
import type { Allowed, Payer } from "../plan.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate, Reading } from "../route.ts";
import { VendorFailure } from "../upstream/vendor-failure.ts";
import type { RunDeps } from "./deps.ts";

/** Ourselves, where other candidates name their vendor. */
export const OURSELVES = "tollgate";

const NOTHING = { usage: null, delivered: { text: "", bytes: 0 }, upstreamCostNano: null, skippedEvents: 0 };

export interface LocalOrder {
  readonly id: string;
  readonly requestId: string;
  readonly sandboxFault: string | null;
  readonly payer: Payer;
  readonly allows: Allowed;
  readonly msMax: number;
}

function refusal(told: GatewayError): AttemptFailure {
  return {
    kind: told.status < 500 ? "caller_invalid" : "gateway_internal",
    status: told.status,
    message: told.message,
    retryAfterMs: null,
    mayHaveRun: false,
    told,
  };
}

/** One run of the function. What it throws is our own failure and is told as `internal_error`. */
class LocalAttempt implements Attempt {
  readonly #sink: AnswerSink;
  readonly #stop = new AbortController();
  readonly #calls: CountedCalls;
  #over = false;
  #answer: unknown;

  constructor(sink: AnswerSink, calls: (signal: AbortSignal) => CountedCalls) {
    this.#sink = sink;
    this.#calls = calls(this.#stop.signal);
  }

  async run(
    serve: (call: CountedCalls, signal: AbortSignal) => ReturnType<LocalAction["run"]>,
    onBroken: (error: unknown) => void,
  ): Promise<void> {
    try {
      this.#answer = await serve(this.#calls, this.#stop.signal);
      this.#end(this.#answer instanceof GatewayError ? refusal(this.#answer) : null);
    } catch (error) {
      // A vendor whose whole answer this is has failed as vendors do.
      if (error instanceof VendorFailure) return this.#end(error.failure);
      onBroken(error);
      const told = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
      this.#end({ ...refusal(told), mayHaveRun: true });
    }
  }

  pause(): void {}

  resume(): void {}

  abort(): void {
    this.#over = true;
    this.#stop.abort();
  }

  accepted(): boolean {
    return true;
  }

  reading(): Reading {
    return { ...NOTHING, answer: this.#answer, miss: false };
  }

  innerLegs() {
    return this.#calls.legs();
  }

  #end(failure: AttemptFailure | null): void {
    if (this.#over) return;
    this.#over = true;
    // Whatever it has not waited for ends with it.
    this.#stop.abort();
    if (failure !== null) return this.#sink.failed(failure);
    this.#sink.done({ kind: "body", body: { json: JSON.stringify(this.#answer ?? null) } });
  }
}

/** Runs the function once for each attempt. */
export function localCandidate(local: LocalAction, params: Params, order: LocalOrder, deps: RunDeps): Candidate {
  const name = `${local.service}/${local.action}`;
  const { id, payer, allows, msMax, sandboxFault } = order;
  const { clock, onBroken } = deps.kernel;
  const { provider = OURSELVES } = local;
  return {
    provider,
    model: name,
    healthKey: `${payer.sandbox ? "sandbox:" : ""}${provider}:${name}`,
    firstTokenMsMax: msMax,
    lastFirstTokenMsMax: msMax,
    readOnMsMax: 0,
    pointlessAfter: () => false,
    open(sink: AnswerSink, firstTokenMsMax: number): Attempt {
      const spend = new Spend(nanoFromCents(local.upstreamCentsMax?.(params) ?? 0), "upstream_cost");
      const deadlineMs = clock.elapsedMs() + firstTokenMsMax;
      const attempt = new LocalAttempt(sink, (signal) =>
        deps.innerCalls({ ...order, signal, deadlineMs, spend, legs: [] }),
      );
      const serve = (calls: CountedCalls, signal: AbortSignal) => {
        const call: LocalCall = {
          id,
          payer,
          allows,
          signal,
          spend,
          sandboxFault,
          call: (wanted) => calls.call(wanted),
          ladder: (wanted) => calls.ladder(wanted),
          race: (wanted) => calls.race(wanted),
          own: (work) => calls.own(work),
          chat: (wanted) => calls.chat(wanted),
        };
        return local.run(params, call);
      };
      void attempt.run(serve, (error) => onBroken(error, order.requestId));
      return attempt;
    },
  };
}

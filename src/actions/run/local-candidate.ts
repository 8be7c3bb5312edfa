// The candidate of an action that we serve ourselves: a function in place of a vendor, which may make calls itself.
import {
  JsonInParts,
  type LocalAction,
  type LocalCall,
  PaidAnswer,
  type ToldEvents,
} from "../../catalog/local-action.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError, isOwnFault } from "../../core/errors.ts";
import { EVENTS_PREAMBLE } from "../../core/event-stream.ts";
import { type Nano, nanoFromCents } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate, FinalPart, Reading } from "../../core/route.ts";
import { inSlices, jsonOf } from "../../core/slices.ts";
import type { CountedCalls } from "../../kernel/inner-call.ts";
import { Spend } from "../../kernel/parent-funds.ts";
import { NOTHING_READ } from "../../upstream/nothing-read.ts";
import { VendorFailure } from "../../upstream/vendor-failure.ts";
import type { ActionOrder, RunDeps } from "./deps.ts";

export const OURSELVES = "tollgate";

/** An answer in parts is streamed once it exceeds this size; a shorter one is sent whole. */
const WHOLE_BYTES_MAX = 256 * 1024;
const NO_MORE = new Uint8Array(0);

export interface LocalOrder extends ActionOrder {
  readonly payer: Payer;
  readonly msMax: number;
  /** The most that the call costs its payer. */
  readonly quoteNano: Nano;
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

async function* encoded(told: ToldEvents, eventBytes: NonNullable<LocalOrder["eventBytes"]>) {
  for await (const one of told) yield eventBytes(one);
}

/** One run of the function. A thrown GatewayError is its refusal; any other exception is a failure of ours, reported as `internal_error`. */
class LocalAttempt implements Attempt {
  readonly #sink: AnswerSink;
  readonly #stop = new AbortController();
  readonly #calls: CountedCalls;
  readonly #preamble: Buffer | null;
  #over = false;
  #answer: unknown;
  #paid: PaidAnswer | null = null;
  /** Pending while the caller accepts no more data. */
  #full: PromiseWithResolvers<void> | null = null;

  constructor(sink: AnswerSink, preamble: Buffer | null, calls: (signal: AbortSignal) => CountedCalls) {
    this.#sink = sink;
    this.#preamble = preamble;
    this.#calls = calls(this.#stop.signal);
  }

  async run(
    serve: (call: CountedCalls, signal: AbortSignal) => ReturnType<LocalAction["run"]>,
    onBroken: (error: unknown) => void,
    mayBeLong: boolean,
  ): Promise<void> {
    try {
      const answer = await serve(this.#calls, this.#stop.signal);
      this.#paid = answer instanceof PaidAnswer ? answer : null;
      this.#answer = this.#paid === null ? answer : this.#paid.data;
      if (this.#answer instanceof JsonInParts) return await this.#pass(this.#answer.parts, this.#preamble);
      if (this.#answer instanceof GatewayError) return this.#failed(refusal(this.#answer));
      const value = this.#answer ?? null;
      const json = mayBeLong ? await inSlices(jsonOf(value)) : JSON.stringify(value);
      this.#done({ kind: "body", body: { json } });
    } catch (error) {
      // The function returns a vendor's answer, so the vendor's failure counts as one.
      if (error instanceof VendorFailure) return this.#failed(error.failure);
      const told = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
      const isFault = isOwnFault(told);
      if (isFault) onBroken(error);
      // A function that refuses has done nothing.
      this.#failed({ ...refusal(told), mayHaveRun: isFault && told.options.nothingDone !== true });
    }
  }

  pause(): void {
    this.#full ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#full?.resolve();
    this.#full = null;
  }

  abort(): void {
    this.#over = true;
    this.#stop.abort();
    this.resume();
  }

  accepted(): boolean {
    return true;
  }

  reading(): Reading {
    const { paidNano = null, isMiss = false } = this.#paid ?? {};
    return { ...NOTHING_READ, answer: this.#answer, upstreamCostNano: paidNano, miss: isMiss };
  }

  innerLegs() {
    return this.#calls.ended();
  }

  /** Streams an answer in parts as fast as the caller reads it. A short answer, or one that is wanted whole, is buffered. */
  async #pass(parts: AsyncIterable<Uint8Array>, preamble: Buffer | null): Promise<void> {
    const kept: Uint8Array[] = [];
    let keptBytes = 0;
    let isBegun = false;
    for await (const part of parts) {
      if (this.#over) return;
      if (isBegun) this.#sink.content(part);
      else {
        kept.push(part);
        keptBytes += part.length;
        if (preamble === null || keptBytes <= (preamble === EVENTS_PREAMBLE ? 0 : WHOLE_BYTES_MAX)) continue;
        isBegun = true;
        for (const one of [preamble, ...kept.splice(0)]) this.#sink.content(one);
      }
      await this.#full?.promise;
    }
    if (isBegun) return this.#done({ kind: "stream", tail: NO_MORE });
    const json = Buffer.concat(kept).toString("utf8");
    // Only inner calls read the value.
    if (preamble === null) this.#answer = JSON.parse(json);
    this.#done({ kind: "body", body: { json } });
  }

  #end(tell: () => void): void {
    if (this.#over) return;
    this.#over = true;
    // Stop any work that the function did not wait for.
    this.#stop.abort();
    tell();
  }

  #done(final: FinalPart): void {
    this.#end(() => this.#sink.done(final));
  }

  #failed(failure: AttemptFailure): void {
    this.#end(() => this.#sink.failed(failure));
  }
}

async function tell(
  local: LocalAction,
  params: Params,
  call: LocalCall,
  eventBytes: NonNullable<LocalOrder["eventBytes"]>,
): Promise<unknown> {
  const told = (await local.events?.(params, call)) ?? null;
  return told === null || told instanceof GatewayError ? told : new JsonInParts(encoded(told, eventBytes));
}

export function localCandidate(local: LocalAction, params: Params, order: LocalOrder, deps: RunDeps): Candidate {
  const name = `${local.service}/${local.action}`;
  const { id, payer, allows, msMax, sandboxFault, quoteNano } = order;
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
      const attempt = new LocalAttempt(sink, order.preamble, (signal) =>
        deps.innerCalls({ ...order, signal, deadlineMs, spend, legs: [] }),
      );
      const serve = (calls: CountedCalls, signal: AbortSignal) => {
        const call: LocalCall = {
          id,
          payer,
          allows,
          quoteNano,
          signal,
          spend,
          sandboxFault,
          call: (wanted) => calls.call(wanted),
          race: (wanted) => calls.race(wanted),
          own: (work) => calls.own(work),
          chat: (wanted) => calls.chat(wanted),
          speak: (wanted) => calls.speak(wanted),
        };
        return order.eventBytes === undefined ? local.run(params, call) : tell(local, params, call, order.eventBytes);
      };
      void attempt.run(serve, (error) => onBroken(error, order.requestId), local.mayBeLong === true);
      return attempt;
    },
  };
}

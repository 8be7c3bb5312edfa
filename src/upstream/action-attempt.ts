// One try of an action at one vendor: its request and steps, each answer held against the rules, a long one passed on unparsed.
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { RequestSpec, StepSpec } from "../catalog/action.ts";
import type { ActionOffer } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { FAILURES, type FailureKind } from "../failures.ts";
import type { AnswerSink, Attempt, AttemptFailure, Reading } from "../plan.ts";
import { AnswerBody } from "./answer-body.ts";
import { redirected, UnbuildableRequest, type WireRequest } from "./build-request.ts";
import { Exchange, type ExchangeListener } from "./exchange.ts";
import { atPointer, isRecord } from "./json-pointer.ts";
import { failureOf, holds, judge, type Rulebook, rulebookOf, type VendorAnswer } from "./read-answer.ts";
import { retryAfterMs } from "./retry-after.ts";
import type { NoTurn, Turn, Wish } from "./vendor-pace.ts";

/** The bytes that a good answer may have before it is passed on as it comes. */
const SPLICE_FROM_BYTES = 1024 * 1024;
const SPLICED_BYTES_MAX = 256 * 1024 * 1024;
const SPLICED_GAP_MS_MAX = 30_000;
/** The brackets that a long answer may begin with, and those that end it. */
const CLOSING: ReadonlyMap<number, number> = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
]);
/** A poll that fails in passing is sent again this often in a row. */
const POLL_FAILURES_MAX = 3;

export interface ActionAttemptOptions {
  readonly offer: ActionOffer;
  /** Makes the request of the step at `at`; 0 is the action's own. Throws UnbuildableRequest. */
  readonly build: (spec: RequestSpec, at: number, soFar: unknown) => WireRequest;
  /** The bytes before an answer that is passed on as it comes; null: none is. */
  readonly preamble: Buffer | null;
  /** A turn at the vendor, whose pace may ask for a wait. */
  readonly turn: (wish: Wish) => Turn | NoTurn;
  /** For the whole of it, in milliseconds. */
  readonly msMax: number;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly onFailure: (failure: AttemptFailure) => AttemptFailure;
}

function failed(kind: FailureKind, message: string, status = 0): AttemptFailure {
  return { kind, status, message, retryAfterMs: null };
}

class ActionAttempt implements Attempt, ExchangeListener {
  readonly #options: ActionAttemptOptions;
  readonly #sink: AnswerSink;
  readonly #endsMs: number;
  /** The step whose answer is awaited; 0 is the action's own request. */
  #at = 0;
  #soFar: VendorAnswer | null = null;
  #request: WireRequest | null = null;
  #redirects = 0;
  #pollFailures = 0;
  #exchange: Exchange | null = null;
  #timer: NodeJS.Timeout | null = null;
  #turn: Turn | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: AnswerBody | null = null;
  #spliced = false;
  #bytes = 0;
  #lastByte = 0;
  #closing = 0;
  #miss = false;
  #answer: unknown;
  #over = false;

  constructor(options: ActionAttemptOptions, sink: AnswerSink) {
    this.#options = options;
    this.#sink = sink;
    this.#endsMs = options.clock.elapsedMs() + options.msMax;
  }

  /** Begins once the vendor's pace allows. */
  start(): void {
    this.#later();
  }

  pause(): void {
    this.#exchange?.pause();
  }

  resume(): void {
    this.#exchange?.resume();
  }

  abort(): void {
    this.#over = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#turn?.giveBack();
    this.#exchange?.abort();
  }

  accepted(): boolean {
    return false;
  }

  reading(): Reading {
    const delivered = { text: "", bytes: this.#bytes };
    const common = { usage: null, delivered, upstreamCostNano: null, skippedEvents: 0 };
    return { ...common, answer: this.#answer, miss: this.#miss };
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    this.#body = new AnswerBody(headers);
  }

  data(chunk: Buffer): void {
    if (this.#spliced) return this.#splice(chunk);
    const body = this.#body;
    if (body === null || !body.push(chunk)) return this.#fail(failed("provider_malformed", "the answer is too large"));
    if (body.length > SPLICE_FROM_BYTES && this.#canSplice(body)) this.#beginSplicing(body.raw());
  }

  end(): void {
    if (this.#over) return;
    if (this.#spliced) return this.#endSpliced();
    const read = this.#body?.read();
    if (read === undefined || read === null)
      return this.#fail(failed("provider_malformed", "the answer cannot be decoded"));
    const answer = { status: this.#status, headers: this.#headers, ...read };
    try {
      if (!this.#follow(answer)) this.#judge(answer);
    } catch (error) {
      // Whoever calls this has no use for what it throws: an answer nested too deep to be written down again, for one.
      this.#fail({ ...failed("provider_malformed", String(error), this.#status), mayHaveRun: true });
    }
  }

  failed(failure: AttemptFailure): void {
    if (this.#polls() && this.#pollFailed(failure)) return;
    const begun = this.#at > 0 || this.#redirects > 0 ? { mayHaveRun: true } : {};
    this.#fail({ ...failure, ...begun });
  }

  get #steps(): readonly StepSpec[] {
    return this.#options.offer.spec.steps ?? [];
  }

  get #step(): StepSpec | null {
    return this.#at === 0 ? null : (this.#steps[this.#at - 1] ?? null);
  }

  get #rulebook(): Rulebook {
    const { adapter, spec } = this.#options.offer;
    return rulebookOf(adapter.spec, spec, this.#step);
  }

  /** Sends the step's request when the vendor's pace and `afterMs` allow, if that is before the end. */
  #later(afterMs = 0): void {
    const leftMs = this.#endsMs - this.#options.clock.elapsedMs();
    const turn = this.#options.turn({ waitMsMax: leftMs, afterMs });
    if (turn.holds === null || turn.waitMs >= leftMs)
      return this.#outOfTime(turn.waitMs > afterMs ? turn.waitMs : null);
    this.#turn = turn;
    if (turn.waitMs <= 0) return this.#open();
    this.#timer = setTimeout(() => {
      if (this.#over) return;
      // The vendor has asked to be left alone since the turn was given.
      if (turn.holds()) this.#open();
      else this.#later();
    }, turn.waitMs);
  }

  /** There is no time left to ask the vendor: because of its pace, for so many ms, or because of what was to be waited for. */
  #outOfTime(paceMs: number | null): void {
    const kind = paceMs === null ? "provider_timeout" : "provider_rate_limited";
    const failure = { ...failed(kind, "the vendor could not be asked in time"), retryAfterMs: paceMs };
    // Before the first request the attempt is not known yet to whoever opened it: the sink hears of it afterwards.
    queueMicrotask(() => this.#fail({ ...failure, mayHaveRun: this.#at > 0 }));
  }

  #open(): void {
    const { offer, build } = this.#options;
    try {
      this.#send(build(this.#step?.request ?? offer.spec.request, this.#at, this.#soFar?.json));
    } catch (error) {
      const failure = this.#unbuildable(error);
      queueMicrotask(() => this.#fail({ ...failure, mayHaveRun: this.#at > 0 }));
    }
  }

  /** Whose fault it is that a request cannot be made: the params', later on the answer's before it, or else our own. */
  #unbuildable(error: unknown): AttemptFailure {
    if (!(error instanceof UnbuildableRequest)) return failed("gateway_internal", String(error));
    if (this.#at > 0) return failed("provider_malformed", error.message);
    const told = new GatewayError("bad_request", { detail: { detail: error.message } });
    return { ...failed("caller_invalid", error.message), told };
  }

  #send(request: WireRequest): void {
    const { dispatcher, clock } = this.#options;
    this.#turn = null;
    this.#request = request;
    const clocks = {
      firstMsMax: Math.max(1, this.#endsMs - clock.elapsedMs()),
      gapMsMax: () => SPLICED_GAP_MS_MAX,
      quiet: () => false,
    };
    this.#exchange = new Exchange(this, clocks, clock);
    this.#exchange.send(dispatcher, request);
  }

  #polls(): boolean {
    return this.#step?.until !== undefined;
  }

  /** A poll that fails in passing says nothing about what it polls for: it is sent again, a few times. */
  #pollFailed(failure: AttemptFailure): boolean {
    const passing = FAILURES[failure.kind].sameRoute;
    if (!passing || this.#over || ++this.#pollFailures > POLL_FAILURES_MAX) return false;
    this.#later(this.#step?.everyMs);
    return true;
  }

  /** Follows a redirect that stays at the vendor's own hosts; anything else is an answer like any other. */
  #follow(answer: VendorAnswer): boolean {
    const { redirectsMax = 0 } = this.#step?.request ?? this.#options.offer.spec.request;
    const location = answer.headers.location;
    const request = this.#request;
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.status);
    if (!isRedirect || location === undefined || request === null || this.#redirects >= redirectsMax) return false;
    const target = redirected(location, request, this.#options.offer.adapter);
    if (target === null) return false;
    this.#redirects++;
    const asBefore = [307, 308].includes(answer.status);
    this.#send({ ...request, ...(asBefore ? {} : { method: "GET", body: null }), ...target });
    return true;
  }

  #judge(answer: VendorAnswer): void {
    const { verdict, rule } = judge(answer, this.#rulebook);
    if (verdict !== "success" && verdict !== "miss") {
      const waitMs = retryAfterMs(answer.headers, this.#options.clock.epochMs());
      const failure = failureOf(answer, verdict, rule, waitMs);
      if (this.#polls() && this.#pollFailed(failure)) return;
      return this.#fail(this.#at > 0 ? { ...failure, mayHaveRun: true } : failure);
    }
    this.#pollFailures = 0;
    const step = this.#step;
    const ready = step?.until === undefined || holds(step.until, answer);
    if (verdict === "success" && step !== null && !ready) {
      return this.#later(step.everyMs);
    }
    this.#keep(answer, step);
    if (verdict === "miss") return this.#finish(true, rule?.data);
    this.#next(rule?.data);
  }

  #keep(answer: VendorAnswer, step: StepSpec | null): void {
    const before = this.#soFar;
    if (step?.merge && before !== null && isRecord(before.json) && isRecord(answer.json)) {
      const json = { ...before.json, ...answer.json };
      this.#soFar = { ...answer, json, text: JSON.stringify(json) };
    } else this.#soFar = answer;
  }

  /** Goes on with the next step that applies, or ends. */
  #next(data: unknown): void {
    const answer = this.#soFar;
    for (this.#at++; this.#at <= this.#steps.length; this.#at++) {
      const when = this.#step?.when;
      if (answer !== null && (when === undefined || holds(when, answer))) {
        return this.#later(this.#polls() ? this.#step?.everyMs : 0);
      }
    }
    this.#finish(false, data);
  }

  #finish(miss: boolean, data: unknown): void {
    const answer = this.#soFar;
    if (this.#over || answer === null) return;
    this.#over = true;
    this.#miss = miss;
    const shape = this.#options.offer.spec.answer ?? { kind: "json" };
    const contentType = String(this.#headers["content-type"] ?? "application/octet-stream");
    const raw = { contentType, bytes: this.#body?.decoded() ?? Buffer.alloc(0) };
    if (data !== undefined) this.#answer = data;
    else if (shape.kind === "bytes") this.#answer = raw;
    else if (shape.kind === "text") this.#answer = { [shape.as]: answer.text, content_type: contentType };
    else this.#answer = answer.json;
    const asItCame = data === undefined && shape.kind === "json" && answer.json !== undefined;
    const json = asItCame
      ? answer.text
      : shape.kind === "bytes" && data === undefined
        ? ""
        : JSON.stringify(this.#answer);
    this.#bytes = raw.bytes.length;
    this.#sink.done({ kind: "body", body: { json: json ?? "null" } });
  }

  /** A long JSON object or array that nobody has to look into is passed on as it comes. */
  #canSplice(body: AnswerBody): boolean {
    const good = this.#status >= 200 && this.#status < 300;
    const type = String(this.#headers["content-type"] ?? "");
    const fit = this.#options.preamble !== null && good && type.includes("json") && !body.encoded;
    return fit && CLOSING.has(body.firstByte);
  }

  #beginSplicing(soFar: Buffer): void {
    this.#spliced = true;
    this.#exchange?.answering();
    this.#closing = CLOSING.get(this.#body?.firstByte ?? 0) ?? 0;
    this.#body = null;
    this.#sink.content(this.#options.preamble ?? Buffer.alloc(0));
    this.#splice(soFar);
  }

  #splice(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > SPLICED_BYTES_MAX) return this.#fail(failed("provider_malformed", "the answer is too large"));
    for (let at = chunk.length - 1; at >= 0; at--) {
      const byte = chunk[at] ?? 0;
      if (byte > 0x20) {
        this.#lastByte = byte;
        break;
      }
    }
    this.#sink.content(chunk);
  }

  /** Unparsed, it is held to this much: that it ends with the bracket which closes the first one. */
  #endSpliced(): void {
    if (this.#lastByte !== this.#closing)
      return this.#fail(failed("provider_malformed", "the answer is no JSON", this.#status));
    if (this.#over) return;
    this.#over = true;
    this.#sink.done({ kind: "stream", tail: Buffer.alloc(0) });
  }

  /** The last word, said once. What still runs upstream is stopped. */
  #fail(failure: AttemptFailure): void {
    if (this.#over) return;
    this.abort();
    this.#sink.failed(this.#options.onFailure(failure));
  }
}

/** Starts an attempt. */
export function openActionAttempt(options: ActionAttemptOptions, sink: AnswerSink): Attempt {
  const attempt = new ActionAttempt(options, sink);
  attempt.start();
  return attempt;
}

/** The value at a pointer as the list of ids that it is: one id, or an array of them. */
export function idsAt(answer: unknown, pointer: string): readonly string[] {
  const found = pointer === "" ? answer : atPointer(answer, pointer);
  return [found]
    .flat()
    .flatMap((id) => ((typeof id === "string" && id !== "") || typeof id === "number" ? [String(id)] : []));
}

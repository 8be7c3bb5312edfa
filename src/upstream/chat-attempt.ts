// One attempt at one chat candidate: sends the request, reads the answer through the call's lane, and reports to the relay.

import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Clock } from "../core/clock.ts";
import { mediaTypeOf } from "../core/event-stream.ts";
import type { AnswerSink, Attempt, AttemptFailure, FinalPart, Reading } from "../core/route.ts";
import { ownSlice } from "../core/slices.ts";
import { ANSWER_BYTES_MAX, AnswerBody } from "./answer-body.ts";
import { classify, retryAfterMs } from "./classify.ts";
import { STREAM_ENCODINGS } from "./decoding.ts";
import { EventStream, framingOf } from "./event-stream.ts";
import { Exchange, type ExchangeClocks, type ExchangeListener, type ExchangeRequest } from "./exchange.ts";
import type { UnaryAnswer } from "./format-kit/dialect.ts";
import { HeldBytes } from "./held-bytes.ts";
import type { Lane } from "./lane.ts";
import { NOTHING_READ } from "./nothing-read.ts";
import { emptyAnswer, failureOfKind, malformed, unfitAnswer, VendorFailure } from "./vendor-failure.ts";
import { GatheredAnswer } from "./whole-stream.ts";

const ERROR_BYTES_MAX = 64 * 1024;
/** How long a complete answer may stay silent before its end mark or the end of its body; usage can still arrive in that time. */
const END_MS_MAX = 5_000;
const OPENING_BRACE = 0x7b;

export interface ChatAttemptOptions {
  readonly lane: Lane;
  readonly stream: boolean;
  readonly firstTokenMsMax: number;
  readonly gapMsMax: number;
  readonly dispatcher: Pick<Dispatcher, "dispatch">;
  readonly clock: Clock;
  /** Called before the sink hears of the failure; may report that another key of ours is usable. */
  readonly onFailure: (failure: AttemptFailure) => AttemptFailure;
}

/**
 * undici keeps a request body until its answer ends, and a body that it encodes itself pins an 8 KiB slab of Node's buffer pool. A stream
 * may stay open for minutes, so it brings a buffer outside the pool.
 */
function asStream(request: ExchangeRequest): ExchangeRequest {
  const { body } = request;
  if (typeof body !== "string") return { ...request, encodings: STREAM_ENCODINGS };
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(body));
  bytes.write(body);
  return { ...request, encodings: STREAM_ENCODINGS, body: bytes };
}

/** A promise if the request must be signed or needs an access token; it rejects with VendorFailure. */
type Asked = ExchangeRequest | Promise<ExchangeRequest>;

class ChatAttempt implements Attempt, ExchangeListener, ExchangeClocks {
  /** Receives what is read of a stream. A class, because an object of closures would take 200 bytes more in every open stream. */
  static readonly #Out = class implements AnswerSink {
    readonly #attempt: ChatAttempt;

    constructor(attempt: ChatAttempt) {
      this.#attempt = attempt;
    }

    content(bytes: Uint8Array): void {
      const attempt = this.#attempt;
      if (attempt.#gathered !== null) return;
      attempt.#exchange.answering();
      attempt.#sink.content(bytes);
    }

    done(final: FinalPart): void {
      const attempt = this.#attempt;
      if (attempt.#gathered === null) attempt.#done(final);
      else attempt.#finish(attempt.#options.lane.answer(attempt.#gathered));
    }

    failed(failure: AttemptFailure): void {
      const attempt = this.#attempt;
      if (attempt.#gathered === null || failure.answer === undefined) return attempt.#fail(failure);
      const whole = attempt.#options.lane.answer(attempt.#gathered);
      attempt.#finish("kind" in whole ? whole : { ...whole, empty: failure.message });
    }
  };
  readonly #options: ChatAttemptOptions;
  readonly #sink: AnswerSink;
  /** Created when a stream arrives, or when one was requested. */
  #stream: EventStream | HeldBytes | null = null;
  /** Collects the events of a vendor that streams although a whole answer was requested. */
  #gathered: GatheredAnswer | null = null;
  #gatheredBytes = 0;
  #paused = false;
  /** Lets other calls run before reading on. */
  #givesWay = false;
  readonly #exchange: Exchange;
  #body: AnswerBody | null = null;
  /** The answer is labelled as events, and none of its bytes has come yet. */
  #isLabelOnly = false;
  #unary: Exclude<UnaryAnswer, AttemptFailure> | null = null;
  /** What a whole answer said, parsed at first use and cached: leg, health and cost all need it. */
  #read: Reading | null = null;
  #isError = false;
  #status = 0;
  #retryAfterMs: number | null = null;
  #over = false;

  constructor(options: ChatAttemptOptions, sink: AnswerSink) {
    this.#options = options;
    this.#sink = sink;
    this.#exchange = new Exchange(this, this, options.clock);
  }

  get firstMsMax(): number {
    return this.#options.firstTokenMsMax;
  }

  gapMsMax(): number {
    return this.#closing > 0 ? END_MS_MAX : this.#options.gapMsMax;
  }

  quiet(): boolean {
    return this.#closing > 0;
  }

  /** Sends the request without keeping a reference. If it cannot even be sent, the attempt fails before this returns. */
  start(request: Asked): void {
    const { dispatcher, lane, stream } = this.#options;
    const send = (asked: ExchangeRequest) => {
      if (this.#over) return;
      const ready = stream ? asStream(asked) : asked;
      this.#exchange.send(dispatcher, lane.passesBytes === true ? { ...ready, ownConnection: true } : ready);
    };
    if (!(request instanceof Promise)) return send(request);
    request.then(send, (error: unknown) => {
      const broken = failureOfKind("gateway_internal", String(error));
      this.#fail(error instanceof VendorFailure ? error.failure : broken);
    });
  }

  pause(): void {
    this.#paused = true;
    this.#exchange.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#goOn();
  }

  abort(): void {
    this.#over = true;
    this.#exchange.abort();
  }

  accepted(): boolean {
    return this.#exchange.taken && !this.#isError;
  }

  reading(): Reading {
    if (this.#stream !== null) return this.#stream.reading();
    this.#read ??= this.#unary === null ? null : readingOf(this.#unary);
    return this.#read ?? NOTHING_READ;
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    const type = headers["content-type"];
    const { lane, stream } = this.#options;
    if (status < 200 || status >= 300) {
      this.#isError = true;
      this.#retryAfterMs = retryAfterMs(headers, this.#options.clock.epochMs());
      this.#body = new AnswerBody(headers, ERROR_BYTES_MAX);
    } else if (lane.passesBytes === true && mediaTypeOf(type) !== "application/json") {
      this.#stream = new HeldBytes(new ChatAttempt.#Out(this));
    } else {
      const framing = framingOf(type);
      this.#isLabelOnly = framing === "sse";
      if (framing !== null && stream) this.#stream = new EventStream(lane, new ChatAttempt.#Out(this), framing);
      else if (framing !== null && lane.gather !== undefined) {
        const gathered = new GatheredAnswer();
        this.#gathered = gathered;
        this.#stream = new EventStream(
          { reader: lane.gather.bind(lane, gathered) },
          new ChatAttempt.#Out(this),
          framing,
        );
      } else this.#body = new AnswerBody(headers);
    }
  }

  data(chunk: Buffer): void {
    if (this.#isLabelOnly) this.#checkLabel(chunk);
    if (this.#gathered !== null) this.#gatheredBytes += chunk.length;
    const fits = this.#gatheredBytes <= ANSWER_BYTES_MAX;
    if (fits && this.#stream !== null) return this.#readEvents(this.#stream, chunk);
    if (fits && (this.#body === null || this.#body.push(chunk))) return;
    if (this.#isError) this.#failWithBody("an error body too large to read");
    else this.#fail(malformed("the answer is too large"));
  }

  end(): void {
    try {
      if (this.#stream !== null) this.#stream.end();
      else if (this.#isError) this.#failWithBody(this.#body?.json());
      else this.#readBody(this.#body?.json());
    } catch (error) {
      // The exchange has ended, so without this the attempt would wait for the call's deadline.
      const message = String(error);
      this.#fail(
        this.#isError ? classify(this.#status, { words: [], message }, this.#retryAfterMs) : malformed(message),
      );
    }
  }

  failed(failure: AttemptFailure): void {
    if (this.#isError && failure.kind === "provider_malformed") return this.#failWithBody(failure.message);
    const cut = failure.kind === "provider_connection_failed" && this.#status !== 0;
    // In a lane where only the end of the body marks the end, a cut body may lack anything.
    const isOver = failure.kind === "provider_timeout" || (cut && this.#options.lane.endsWithBody !== true);
    if (isOver && this.#stream?.finished) return this.end();
    this.#fail(cut ? { ...failure, kind: "provider_cut" } : failure);
  }

  /** Some vendors label whole JSON as events. No line of events begins with a brace. */
  #checkLabel(chunk: Buffer): void {
    const first = chunk.find((byte) => byte > 0x20);
    if (first === undefined) return;
    this.#isLabelOnly = false;
    if (first !== OPENING_BRACE) return;
    [this.#stream, this.#gathered, this.#body] = [null, null, new AnswerBody({})];
  }

  /** Nonzero once only the end mark is missing, which some vendors omit; content after a finish changes the number. */
  get #closing(): number {
    return Number(this.#stream?.closing ?? 0);
  }

  #readEvents(stream: EventStream | HeldBytes, chunk: Buffer): void {
    const before = this.#closing;
    try {
      if (!stream.push(chunk)) this.#giveWay();
    } catch (error) {
      this.#fail(malformed(String(error)));
    }
    if (this.#closing !== before) this.#exchange.hurry();
  }

  #giveWay(): void {
    if (this.#over) return;
    this.#givesWay = true;
    this.#exchange.pause();
    void ownSlice().then(() => {
      this.#givesWay = false;
      this.#goOn();
    });
  }

  #goOn(): void {
    if (this.#stream?.waits && !this.#isHalted) this.#readEvents(this.#stream, Buffer.alloc(0));
    if (!this.#isHalted) this.#exchange.resume();
  }

  get #isHalted(): boolean {
    return this.#over || this.#paused || this.#givesWay;
  }

  #readBody(json: unknown): void {
    const { lane, stream } = this.#options;
    if (stream && lane.tell !== undefined) {
      const told = new EventStream(lane, new ChatAttempt.#Out(this));
      this.#stream = told;
      return told.tell(json, lane);
    }
    const answer = this.#answerIn(json);
    if ("kind" in answer) {
      // The vendor charges for the usage it reports, whatever the answer says.
      const told = lane.told?.(json) ?? null;
      if (told !== null) this.#unary = { body: {}, ...told, text: "", upstreamCostNano: null };
      return this.#fail(answer);
    }
    this.#unary = answer;
    if (stream) return this.#fail(malformed("a whole answer came where a stream was asked for"));
    this.#finish(answer);
  }

  #finish(answer: UnaryAnswer): void {
    if ("kind" in answer) return this.#fail(answer);
    const final = { kind: "body", body: answer.body } as const;
    if (answer.empty !== undefined) return this.#fail(emptyAnswer(answer.empty, final));
    if (answer.unfit !== undefined) return this.#fail(unfitAnswer(answer.unfit, final));
    this.#done(final);
  }

  #done(final: FinalPart): void {
    if (this.#over) return;
    this.#over = true;
    this.#exchange.release();
    this.#sink.done(final);
  }

  /** Turns exceptions into failures: an answer nested deeper than the stack, for one, throws when serialized. */
  #answerIn(json: unknown): UnaryAnswer {
    try {
      return this.#options.lane.answer(json);
    } catch (error) {
      return malformed(`the answer cannot be read: ${String(error)}`);
    }
  }

  #failWithBody(body: unknown): void {
    this.#fail(classify(this.#status, this.#options.lane.error(body), this.#retryAfterMs));
  }

  /** Ends the attempt with a failure, once, and aborts its request. */
  #fail(failure: AttemptFailure): void {
    if (this.#over) return;
    this.abort();
    this.#sink.failed(this.#options.onFailure(failure));
  }
}

function readingOf({ usage, text, upstreamCostNano, counts }: Exclude<UnaryAnswer, AttemptFailure>): Reading {
  const delivered = { text, bytes: Buffer.byteLength(text) };
  const reading = { ...NOTHING_READ, usage, delivered, upstreamCostNano };
  return counts == null ? reading : { ...reading, counts };
}

export function openChatAttempt(options: ChatAttemptOptions, request: Asked, sink: AnswerSink): Attempt {
  const attempt = new ChatAttempt(options, sink);
  attempt.start(request);
  return attempt;
}

// One try of one chat route: sends the request, reads what comes by the vendor's dialect, and tells the relay.
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Clock } from "../clock.ts";
import type { AnswerSink, Attempt, AttemptFailure, Reading } from "../plan.ts";
import { ChatStream } from "./chat-stream-out.ts";
import { classify } from "./classify.ts";
import type { ChatContext, ChatStreamReader, Dialect, UnaryAnswer } from "./dialects/dialect.ts";
import { Exchange, type ExchangeListener, type ExchangeRequest } from "./exchange.ts";
import { retryAfterMs } from "./retry-after.ts";
import { SseScanner } from "./sse-scanner.ts";
import { ANSWER_BYTES_MAX, UnaryBody } from "./unary-body.ts";

const EVENT_BYTES_MAX = 16 * 1024 * 1024;
const ERROR_BYTES_MAX = 64 * 1024;
/** How long we wait for usage and a goodbye once the answer itself is complete. */
const GOODBYE_MS_MAX = 5_000;

export interface ChatAttemptOptions {
  readonly dialect: Dialect;
  readonly context: ChatContext;
  readonly request: ExchangeRequest;
  readonly firstTokenMsMax: number;
  readonly gapMsMax: number;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  /** Told of a failure before the sink is; may say that another key of ours is fit. */
  readonly onFailure: (failure: AttemptFailure) => AttemptFailure;
}

type Mode = "stream" | "body" | "error";

class ChatAttempt implements Attempt, ExchangeListener {
  readonly #options: ChatAttemptOptions;
  readonly #sink: AnswerSink;
  readonly #stream: ChatStream;
  readonly #reader: ChatStreamReader;
  readonly #scanner: SseScanner;
  readonly #exchange: Exchange;
  #body: UnaryBody | null = null;
  #unary: Exclude<UnaryAnswer, AttemptFailure> | null = null;
  #mode: Mode = "stream";
  #status = 0;
  #retryAfterMs: number | null = null;
  #over = false;

  constructor(options: ChatAttemptOptions, sink: AnswerSink) {
    const { context, dialect, clock } = options;
    this.#options = options;
    this.#sink = sink;
    this.#stream = new ChatStream(context, {
      content: (bytes) => {
        this.#exchange.answering();
        sink.content(bytes);
      },
      done: (final) => {
        if (this.#over) return;
        this.#over = true;
        this.#exchange.release();
        sink.done(final);
      },
      failed: (failure) => this.#fail(failure),
    });
    this.#reader = dialect.reader(context, this.#stream);
    this.#scanner = new SseScanner((bytes, start, end, name) => {
      if (!this.#stream.over && !this.#reader.event(bytes, start, end, name)) this.#stream.skip();
    }, EVENT_BYTES_MAX);
    const clocks = {
      firstMsMax: options.firstTokenMsMax,
      gapMsMax: () => (this.#stream.finished ? GOODBYE_MS_MAX : options.gapMsMax),
      quiet: () => this.#stream.finished,
    };
    this.#exchange = new Exchange(this, clocks, clock);
  }

  /** Sends the request. A request that cannot even be sent fails before this returns. */
  start(): void {
    this.#exchange.send(this.#options.dispatcher, this.#options.request);
  }

  pause(): void {
    this.#exchange.pause();
  }

  resume(): void {
    this.#exchange.resume();
  }

  abort(): void {
    this.#over = true;
    this.#exchange.abort();
  }

  reading(): Reading {
    if (this.#unary === null) return this.#stream.reading();
    const { usage, text, upstreamCostNano } = this.#unary;
    return { usage, delivered: { text, bytes: Buffer.byteLength(text) }, upstreamCostNano, skippedEvents: 0 };
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    const type = String(headers["content-type"] ?? "");
    if (status < 200 || status >= 300) {
      this.#mode = "error";
      this.#retryAfterMs = retryAfterMs(headers, this.#options.clock.epochMs());
      this.#body = new UnaryBody(ERROR_BYTES_MAX);
    } else if (!this.#options.context.stream || !type.startsWith("text/event-stream")) {
      this.#mode = "body";
      this.#body = new UnaryBody(ANSWER_BYTES_MAX);
    }
  }

  data(chunk: Buffer): void {
    if (this.#body === null) {
      const running = !this.#stream.finished;
      try {
        this.#scanner.push(chunk);
      } catch (error) {
        this.#fail(malformed(String(error)));
      }
      if (running && this.#stream.finished) this.#exchange.hurry();
      return;
    }
    if (this.#body.push(chunk)) return;
    if (this.#mode === "error") this.#failWithBody("an error body too large to read");
    else this.#fail(malformed("the answer is too large"));
  }

  end(): void {
    if (this.#mode === "error") this.#failWithBody(this.#body?.json());
    else if (this.#mode === "body") this.#readBody(this.#body?.json());
    else {
      this.#scanner.end();
      this.#stream.end();
    }
  }

  failed(failure: AttemptFailure): void {
    const cut = failure.kind === "provider_connection_failed" && this.#status !== 0;
    if (cut && this.#stream.finished) return this.#stream.end();
    this.#fail(cut ? { ...failure, kind: "provider_cut" } : failure);
  }

  #readBody(json: unknown): void {
    const { dialect, context } = this.#options;
    const answer = dialect.answer(json, context);
    if ("kind" in answer) return this.#fail(answer);
    if (context.stream) return this.#fail(malformed("a whole answer came where a stream was asked for"));
    if (this.#over) return;
    this.#over = true;
    this.#unary = answer;
    this.#sink.done({ kind: "body", body: answer.body });
  }

  #failWithBody(body: unknown): void {
    this.#fail(classify(this.#status, this.#options.dialect.error(body), this.#retryAfterMs));
  }

  /** The last word, said once. What still runs upstream is stopped. */
  #fail(failure: AttemptFailure): void {
    if (this.#over) return;
    this.abort();
    this.#sink.failed(this.#options.onFailure(failure));
  }
}

function malformed(message: string): AttemptFailure {
  return { kind: "provider_malformed", status: 200, message, retryAfterMs: null };
}

/** Starts an attempt. */
export function openChatAttempt(options: ChatAttemptOptions, sink: AnswerSink): Attempt {
  const attempt = new ChatAttempt(options, sink);
  attempt.start();
  return attempt;
}

// One request to a vendor with its outcome: follows redirects, passes on a long answer, reports messages, and reads any other answer whole.
import type { IncomingHttpHeaders } from "node:http";
import type { Messages } from "../catalog/script.ts";
import type { AttemptFailure } from "../core/route.ts";
import { AnswerBody } from "./answer-body.ts";
import { redirected, type WireRequest } from "./build-request.ts";
import { Exchange, type ExchangeListener } from "./exchange.ts";
import type { VendorAnswer } from "./judge-answer.ts";
import type { CutOutcome, MessageCutter } from "./message-bytes.ts";
import { messageCutter } from "./message-cutter.ts";
import { handshake, saidFrame } from "./socket-frames.ts";
import type { Question, VendorClientOptions } from "./vendor-client.ts";
import { cancelled, failureOfKind, VendorFailure } from "./vendor-failure.ts";

const SPLICED_GAP_MS_MAX = 30_000;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Redirects that repeat the same request, body included. */
const SAME_AGAIN = [307, 308];

/** One request with its redirects and its outcome. */
export class VendorExchange implements ExchangeListener {
  readonly #question: Question;
  readonly #options: VendorClientOptions;
  readonly #msMax: () => number;
  readonly #outcome = Promise.withResolvers<VendorAnswer>();
  #request: WireRequest | null = null;
  #redirects = 0;
  #exchange: Exchange | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: AnswerBody | null = null;
  #splicing = false;
  #cutter: MessageCutter | null = null;
  /** The accept value with which a server must open the requested socket. */
  #accept: string | null = null;

  /** `msMax`: the time limit of a request that begins now, in milliseconds. */
  constructor(question: Question, options: VendorClientOptions, msMax: () => number) {
    this.#question = question;
    this.#options = options;
    this.#msMax = msMax;
  }

  run(request: WireRequest): Promise<VendorAnswer> {
    this.#send(request);
    return this.#outcome.promise;
  }

  pause(): void {
    this.#exchange?.pause();
  }

  resume(): void {
    this.#exchange?.resume();
  }

  abort(): void {
    this.#exchange?.abort();
    this.#outcome.reject(cancelled());
  }

  /** The request was written whole, and has not been refused so far. */
  get accepted(): boolean {
    return (this.#redirects > 0 || this.#exchange?.taken === true) && this.#status < 400;
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    const { messages } = this.#question;
    if (messages !== undefined && status < 300) this.#listen(messages);
    else this.#body = new AnswerBody(headers);
  }

  data(chunk: Buffer): void {
    if (this.#cutter !== null) return this.#cut((cutter) => cutter.push(chunk));
    const { splice } = this.#question;
    const body = this.#body;
    const fits = this.#splicing ? splice?.push(chunk) : body?.push(chunk);
    if (fits !== true) return this.#fail(failureOfKind("provider_malformed", "the answer is too large"));
    if (this.#splicing || body === null || splice === null) return;
    if (!splice.takes(this.#status, this.#headers, body)) return;
    this.#splicing = true;
    this.#body = null;
    this.#exchange?.answering();
    splice.begin(body);
  }

  end(): void {
    if (this.#cutter !== null) return this.#cut((cutter) => cutter.end(), true);
    if (this.#splicing) return this.#endSpliced();
    try {
      const body = this.#body ?? new AnswerBody(this.#headers);
      const answer = { status: this.#status, headers: this.#headers, ...body.read() };
      if (!this.#follow(answer)) this.#outcome.resolve(answer);
    } catch (error) {
      this.#fail({ ...failureOfKind("provider_malformed", String(error), this.#status), mayHaveRun: true });
    }
  }

  failed(failure: AttemptFailure): void {
    if (this.#cutter !== null && failure.kind === "provider_timeout") return this.#heardOut("late");
    this.#fail(this.#redirects > 0 ? { ...failure, mayHaveRun: true } : failure);
  }

  #send(request: WireRequest): void {
    const { dispatcher, clock } = this.#options;
    this.#request = request;
    const clocks = { firstMsMax: this.#msMax(), gapMsMax: () => SPLICED_GAP_MS_MAX, quiet: () => false };
    this.#exchange = new Exchange(this, clocks, clock);
    if (this.#question.messages?.form !== "web-socket") return this.#exchange.send(dispatcher, request);
    const { headers, accept } = handshake();
    this.#accept = accept;
    this.#exchange.send(dispatcher, { ...request, upgrade: "websocket", headers: { ...request.headers, ...headers } });
  }

  /** Starts reading messages after the head of a good answer. */
  #listen(messages: Messages): void {
    const opened = this.#status === 101 && this.#headers["sec-websocket-accept"] === this.#accept;
    if (this.#accept !== null && !opened)
      return this.#fail(failureOfKind("provider_malformed", "no web socket was opened"));
    this.#cutter = messageCutter(messages, (bytes) => this.#exchange?.write(bytes));
    for (const payload of messages.said ?? []) this.#exchange?.write(saidFrame(payload));
  }

  #cut(step: (cutter: MessageCutter) => CutOutcome, isEnd = false): void {
    if (this.#cutter === null) return;
    try {
      const outcome = step(this.#cutter);
      if (outcome === "broken") throw new Error("the stream is broken");
      if (outcome === "enough") this.#heardOut("enough");
      else if (outcome === "over" || isEnd) this.#heardOut();
    } catch (error) {
      this.#fail({ ...failureOfKind("provider_malformed", String(error), this.#status), mayHaveRun: true });
    }
  }

  /** Stops listening: the messages are complete, or `cut` says why not. */
  #heardOut(cut?: VendorAnswer["cut"]): void {
    this.#exchange?.abort();
    const answer = { status: this.#status, headers: this.#headers, json: undefined, text: "", bytes: Buffer.alloc(0) };
    this.#outcome.resolve({ ...answer, passedOn: true, ...(cut === undefined ? null : { cut }) });
  }

  /** Follows a redirect within the vendor's own hosts; returns false for anything else, which is an ordinary answer. */
  #follow({ status, headers: { location } }: VendorAnswer): boolean {
    const request = this.#request;
    const { redirectsMax } = this.#question;
    if (!REDIRECTS.includes(status) || location === undefined || request === null) return false;
    const target = this.#redirects < redirectsMax ? redirected(location, request, this.#options.adapter) : null;
    if (target === null) return false;
    this.#redirects++;
    const next = SAME_AGAIN.includes(status) ? request : { ...request, method: "GET" as const, body: null };
    this.#send({ ...next, ...target });
    return true;
  }

  #endSpliced(): void {
    if (this.#question.splice?.isWhole !== true)
      return this.#fail(failureOfKind("provider_malformed", "the answer is no JSON", this.#status));
    const answer = { status: this.#status, headers: this.#headers, json: undefined, text: "", bytes: Buffer.alloc(0) };
    this.#outcome.resolve({ ...answer, passedOn: true });
  }

  /** Aborts the request, and rejects the outcome. */
  #fail(failure: AttemptFailure): void {
    this.#exchange?.abort();
    this.#outcome.reject(new VendorFailure(failure));
  }
}

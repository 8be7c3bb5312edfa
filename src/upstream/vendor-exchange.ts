// One request to a vendor and what comes of it: redirects followed, a long answer passed on, any other read whole.
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import type { AttemptFailure } from "../route.ts";
import { AnswerBody } from "./answer-body.ts";
import { redirected, type WireRequest } from "./build-request.ts";
import { Exchange, type ExchangeListener } from "./exchange.ts";
import type { VendorAnswer } from "./read-answer.ts";
import type { Splice } from "./splice.ts";
import { cancelled, failureOfKind, VendorFailure } from "./vendor-failure.ts";

const SPLICED_GAP_MS_MAX = 30_000;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Those after which the same request is sent again, body and all. */
const SAME_AGAIN = [307, 308];

export interface VendorExchangeOptions {
  readonly adapter: Adapter;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly redirectsMax: number;
  /** Takes a long answer over; null: the answer is wanted whole. */
  readonly splice: Splice | null;
  /** What is left of the call's time. */
  leftMs(): number;
}

/** One request and what comes of it, through its redirects. */
export class VendorExchange implements ExchangeListener {
  readonly #options: VendorExchangeOptions;
  readonly #outcome = Promise.withResolvers<VendorAnswer>();
  #request: WireRequest | null = null;
  #redirects = 0;
  #exchange: Exchange | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: AnswerBody | null = null;
  #splicing = false;

  constructor(options: VendorExchangeOptions) {
    this.#options = options;
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

  /** Written whole, and not refused so far. */
  get accepted(): boolean {
    return (this.#redirects > 0 || this.#exchange?.sent === true) && this.#status < 400;
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    this.#body = new AnswerBody(headers);
  }

  data(chunk: Buffer): void {
    const { splice } = this.#options;
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
    if (this.#splicing) return this.#endSpliced();
    try {
      const read = this.#body?.read();
      if (read === undefined || read === null) {
        return this.#fail(failureOfKind("provider_malformed", "the answer cannot be decoded"));
      }
      const answer = { status: this.#status, headers: this.#headers, ...read };
      if (!this.#follow(answer)) this.#outcome.resolve(answer);
    } catch (error) {
      this.#fail({ ...failureOfKind("provider_malformed", String(error), this.#status), mayHaveRun: true });
    }
  }

  failed(failure: AttemptFailure): void {
    this.#fail(this.#redirects > 0 ? { ...failure, mayHaveRun: true } : failure);
  }

  #send(request: WireRequest): void {
    const { dispatcher, clock } = this.#options;
    this.#request = request;
    const clocks = {
      firstMsMax: Math.max(1, this.#options.leftMs()),
      gapMsMax: () => SPLICED_GAP_MS_MAX,
      quiet: () => false,
    };
    this.#exchange = new Exchange(this, clocks, clock);
    this.#exchange.send(dispatcher, request);
  }

  /** Follows a redirect that stays at the vendor's own hosts; anything else is an answer like any other. */
  #follow({ status, headers: { location } }: VendorAnswer): boolean {
    const request = this.#request;
    const { redirectsMax, adapter } = this.#options;
    if (!REDIRECTS.includes(status) || location === undefined || request === null) return false;
    const target = this.#redirects < redirectsMax ? redirected(location, request, adapter) : null;
    if (target === null) return false;
    this.#redirects++;
    const next = SAME_AGAIN.includes(status) ? request : { ...request, method: "GET" as const, body: null };
    this.#send({ ...next, ...target });
    return true;
  }

  #endSpliced(): void {
    if (this.#options.splice?.isWhole !== true) {
      return this.#fail(failureOfKind("provider_malformed", "the answer is no JSON", this.#status));
    }
    const answer = { status: this.#status, headers: this.#headers, json: undefined, text: "", bytes: Buffer.alloc(0) };
    this.#outcome.resolve({ ...answer, passedOn: true });
  }

  /** What still runs upstream is stopped. */
  #fail(failure: AttemptFailure): void {
    this.#exchange?.abort();
    this.#outcome.reject(new VendorFailure(failure));
  }
}

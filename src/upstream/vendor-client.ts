// Asks a vendor for one call: each exchange waits for its turn, follows redirects, and comes back as a whole answer.
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Adapter } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { FailureKind } from "../failures.ts";
import type { AttemptFailure } from "../plan.ts";
import { AnswerBody } from "./answer-body.ts";
import { redirected, UnbuildableRequest, type WireRequest } from "./build-request.ts";
import { Exchange, type ExchangeListener } from "./exchange.ts";
import type { VendorAnswer } from "./read-answer.ts";
import type { Splice } from "./splice.ts";
import type { NoTurn, Turn, Wish } from "./vendor-pace.ts";

const SPLICED_GAP_MS_MAX = 30_000;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Those after which the same request is sent again, body and all. */
const SAME_AGAIN = [307, 308];

/** A failure ends the call, unless whoever asked knows better. */
export class VendorFailure extends Error {
  readonly failure: AttemptFailure;

  constructor(failure: AttemptFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export function failureOfKind(kind: FailureKind, message: string, status = 0): AttemptFailure {
  return { kind, status, message, retryAfterMs: null };
}

export interface Question {
  /** Called when the turn has come. Throws UnbuildableRequest. */
  build(): WireRequest;
  readonly redirectsMax: number;
  /** It is not sent before so many milliseconds have passed. */
  readonly afterMs: number;
  /** Takes a long answer over; null: the answer is wanted whole. */
  readonly splice: Splice | null;
}

export interface VendorClientOptions {
  readonly adapter: Adapter;
  /** A turn at the vendor, whose pace may ask for a wait. */
  readonly turn: (wish: Wish) => Turn | NoTurn;
  /** For all that is asked together, in milliseconds. */
  readonly msMax: number;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
}

/** What can be stopped: a wait for a turn, or an exchange. */
interface Running {
  abort(): void;
  pause?(): void;
  resume?(): void;
  readonly accepted?: boolean;
}

export class VendorClient {
  readonly #options: VendorClientOptions;
  readonly #endsMs: number;
  readonly #running = new Set<Running>();
  #taken = false;
  #over = false;
  /** How many answers have come whole, and the last one's status. */
  answers = 0;
  status = 0;

  constructor(options: VendorClientOptions) {
    this.#options = options;
    this.#endsMs = options.clock.elapsedMs() + options.msMax;
  }

  /** One exchange. Throws VendorFailure where no whole answer comes; what the answer means is for others to say. */
  async ask(question: Question): Promise<VendorAnswer> {
    const isFirst = this.answers === 0;
    try {
      await this.#waitForTurn(question.afterMs);
      const request = this.#build(question, isFirst);
      const answer = await this.#exchange(request, question);
      this.answers++;
      return answer;
    } catch (error) {
      // What came before has been acted on, whatever becomes of this one.
      if (!isFirst && error instanceof VendorFailure) throw new VendorFailure({ ...error.failure, mayHaveRun: true });
      throw error;
    }
  }

  pause(): void {
    for (const one of this.#running) one.pause?.();
  }

  resume(): void {
    for (const one of this.#running) one.resume?.();
  }

  /** Stops all that runs; whoever waits for an answer is thrown a VendorFailure. */
  abort(): void {
    this.#over = true;
    for (const one of this.#running) one.abort();
  }

  /** A request has been written whole to the vendor, and no refusal has come. */
  get accepted(): boolean {
    return this.#taken || [...this.#running].some((one) => one.accepted === true);
  }

  get #leftMs(): number {
    return this.#endsMs - this.#options.clock.elapsedMs();
  }

  async #waitForTurn(afterMs: number): Promise<void> {
    for (let earliestMs = afterMs; ; earliestMs = 0) {
      if (this.#over) throw cancelled();
      const leftMs = this.#leftMs;
      const turn = this.#options.turn({ waitMsMax: leftMs, afterMs: earliestMs });
      if (turn.holds === null || turn.waitMs >= leftMs) throw outOfTime(turn.waitMs > earliestMs ? turn.waitMs : null);
      if (turn.waitMs <= 0) return;
      await this.#sleep(turn);
      // The vendor may have asked to be left alone since the turn was given.
      if (turn.holds()) return;
    }
  }

  #sleep(turn: Turn): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#running.delete(waiting);
      };
      const waiting: Running = {
        abort() {
          end();
          turn.giveBack();
          reject(cancelled());
        },
      };
      const timer = setTimeout(() => {
        end();
        resolve();
      }, turn.waitMs);
      this.#running.add(waiting);
    });
  }

  /** Whose fault it is that a request cannot be made: the params', later on the answer's before it, or else our own. */
  #build({ build }: Question, isFirst: boolean): WireRequest {
    if (this.#over) throw cancelled();
    try {
      return build();
    } catch (error) {
      const mayHaveRun = false;
      if (!(error instanceof UnbuildableRequest)) {
        throw new VendorFailure({ ...failureOfKind("gateway_internal", String(error)), mayHaveRun });
      }
      if (!isFirst) throw new VendorFailure(failureOfKind("provider_malformed", error.message));
      const told = new GatewayError("bad_request", { detail: { detail: error.message } });
      throw new VendorFailure({ ...failureOfKind("caller_invalid", error.message), told, mayHaveRun });
    }
  }

  async #exchange(request: WireRequest, question: Question): Promise<VendorAnswer> {
    const exchange = new VendorExchange(this.#options, question, () => this.#leftMs);
    this.#running.add(exchange);
    try {
      const answer = await exchange.run(request);
      this.status = answer.status;
      this.#taken ||= exchange.accepted;
      return answer;
    } finally {
      // One that was stopped is kept, so that it can still say whether it was accepted.
      if (!this.#over) this.#running.delete(exchange);
    }
  }
}

function cancelled(): VendorFailure {
  return new VendorFailure(failureOfKind("caller_cancelled", "the call has ended"));
}

/** There is no time left to ask the vendor: because of its pace, for so many ms, or because of what was to be waited for. */
function outOfTime(paceMs: number | null): VendorFailure {
  const kind = paceMs === null ? "provider_timeout" : "provider_rate_limited";
  const failure = failureOfKind(kind, "the vendor could not be asked in time");
  return new VendorFailure({ ...failure, retryAfterMs: paceMs, mayHaveRun: false });
}

/** One request and what comes of it, through its redirects. */
class VendorExchange implements ExchangeListener, Running {
  readonly #options: VendorClientOptions;
  readonly #question: Question;
  readonly #leftMs: () => number;
  readonly #outcome = Promise.withResolvers<VendorAnswer>();
  #request: WireRequest | null = null;
  #redirects = 0;
  #exchange: Exchange | null = null;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body: AnswerBody | null = null;
  #splicing = false;

  constructor(options: VendorClientOptions, question: Question, leftMs: () => number) {
    this.#options = options;
    this.#question = question;
    this.#leftMs = leftMs;
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

  get accepted(): boolean {
    return this.#exchange?.sent === true && this.#status < 400;
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
    this.#body = new AnswerBody(headers);
  }

  data(chunk: Buffer): void {
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
    if (this.#splicing) return this.#endSpliced();
    try {
      const read = this.#body?.read();
      if (read === undefined || read === null) {
        return this.#fail(failureOfKind("provider_malformed", "the answer cannot be decoded"));
      }
      const answer = { status: this.#status, headers: this.#headers, ...read };
      if (!this.#follow(answer)) this.#outcome.resolve(answer);
    } catch (error) {
      this.#outcome.reject(error);
    }
  }

  failed(failure: AttemptFailure): void {
    this.#fail(this.#redirects > 0 ? { ...failure, mayHaveRun: true } : failure);
  }

  #send(request: WireRequest): void {
    const { dispatcher, clock } = this.#options;
    this.#request = request;
    const clocks = {
      firstMsMax: Math.max(1, this.#leftMs()),
      gapMsMax: () => SPLICED_GAP_MS_MAX,
      quiet: () => false,
    };
    this.#exchange = new Exchange(this, clocks, clock);
    this.#exchange.send(dispatcher, request);
  }

  /** Follows a redirect that stays at the vendor's own hosts; anything else is an answer like any other. */
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
    if (this.#question.splice?.isWhole !== true) {
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

// Sends a call's requests to a vendor: each exchange waits for a permit and returns a whole answer, all within one deadline.
import type { Dispatcher } from "undici";
import type { Payment } from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import type { Messages } from "../catalog/script.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { add, type Nano, ZERO } from "../core/money.ts";
import type { Login } from "./access-tokens.ts";
import { UnbuildableRequest, type WireRequest } from "./build-request.ts";
import type { VendorAnswer } from "./judge-answer.ts";
import type { AskedSidecar } from "./sidecar/sidecar.ts";
import { SidecarExchange } from "./sidecar/sidecar-exchange.ts";
import type { Splice } from "./splice.ts";
import { VendorExchange } from "./vendor-exchange.ts";
import { cancelled, failureOfKind, VendorFailure } from "./vendor-failure.ts";
import type { NoPermit, Permit, PermitRequest } from "./vendor-rate-limiter.ts";

/** With less time left nothing is sent: a timer may fire more than a millisecond early, and a timed-out call must stay timed out. */
const LEFT_MS_MIN = 3;

export interface Question {
  /** Called when the permit is due. Throws UnbuildableRequest. */
  build(): WireRequest;
  readonly redirectsMax: number;
  /** The shortest wait before sending, in milliseconds. */
  readonly afterMs: number;
  /** Takes over a long answer; null if the answer must be read whole. */
  readonly splice: Splice | null;
  /** Receives the messages of a good answer, which is then not kept. Default: the answer is kept. */
  readonly messages?: Messages;
  /** The time limit of this exchange, in milliseconds. Default: the time left for the whole. */
  readonly msMax?: number;
}

export interface VendorClientOptions {
  readonly adapter: Adapter;
  /** Asks the vendor's rate limiter for a permit; the permit may include a wait. */
  readonly acquire: (request: PermitRequest) => Permit | NoPermit;
  /** The time limit of all exchanges together, in milliseconds. */
  readonly msMax: number;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  /** The process that replaces the vendor's HTTP API; null if the vendor has one. */
  readonly sidecar?: AskedSidecar | null;
  /** Adds our key, and pays. Default: requests are sent as built. */
  readonly login?: Login;
}

/** Anything that can be stopped: a wait for a permit, or an exchange. */
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
  /** The number of whole answers, and the status of the last one. */
  answers = 0;
  status = 0;
  /** The amount paid for the vendor's 402s; null if it asked for nothing. */
  paidNano: Nano | null = null;
  /** Payment details that were sent; no failure may reveal them. */
  readonly shown: string[] = [];

  constructor(options: VendorClientOptions) {
    this.#options = options;
    this.#endsMs = options.clock.elapsedMs() + options.msMax;
  }

  /** Performs one exchange. Throws VendorFailure if no whole answer arrives. Does not interpret the answer. */
  async ask(question: Question): Promise<VendorAnswer> {
    const isFirst = this.answers === 0;
    try {
      const permit = this.#permit(question.afterMs);
      if (permit.waitMs > 0) await this.#waitFor(permit);
      const built = this.#build(question, isFirst);
      const { login } = this.#options;
      const authorized = login?.authorize(built) ?? built;
      const request = authorized instanceof Promise ? await authorized : authorized;
      let answer = await this.#exchange(request, question);
      if (answer.status === 402 && login?.pays === true)
        answer = await this.#paid(answer, request, { login, question });
      this.answers++;
      return answer;
    } catch (error) {
      // Earlier requests have already taken effect, whatever happens to this one.
      if (!(error instanceof VendorFailure)) throw error;
      const { failure } = error;
      throw isFirst && this.shown.length === 0 ? error : new VendorFailure({ ...failure, mayHaveRun: true });
    }
  }

  pause(): void {
    for (const one of this.#running) one.pause?.();
  }

  resume(): void {
    for (const one of this.#running) one.resume?.();
  }

  /** Stops everything that runs; pending answers reject with VendorFailure. */
  abort(): void {
    this.#over = true;
    for (const one of this.#running) one.abort();
  }

  /** A request was written to the vendor whole and not refused, or it was paid. */
  get accepted(): boolean {
    return this.#taken || this.paidNano !== null || [...this.#running].some((one) => one.accepted === true);
  }

  get #leftMs(): number {
    return this.#endsMs - this.#options.clock.elapsedMs();
  }

  /** Acquires a permit, which may include a wait. Throws VendorFailure if none is available in time. */
  #permit(afterMs: number): Permit {
    if (this.#over) throw cancelled();
    const leftMs = this.#leftMs;
    const permit = this.#options.acquire({ waitMsMax: leftMs, afterMs });
    if (permit.valid === null || permit.waitMs > leftMs - LEFT_MS_MIN)
      throw outOfTime(permit.waitMs > afterMs ? permit.waitMs : null);
    return permit;
  }

  async #waitFor(given: Permit): Promise<void> {
    for (let permit = given; permit.waitMs > 0; permit = this.#permit(0)) {
      await this.#sleep(permit);
      // The vendor may have asked for a pause since the permit was given.
      if (permit.valid()) return;
    }
  }

  #sleep(permit: Permit): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        this.#running.delete(waiting);
      };
      const waiting: Running = {
        abort() {
          end();
          permit.cancel();
          reject(cancelled());
        },
      };
      const timer = setTimeout(() => {
        end();
        resolve();
      }, permit.waitMs);
      this.#running.add(waiting);
    });
  }

  /** Builds the request, and assigns the fault if that fails: to the params; after the first answer, to that answer; or to us. */
  #build({ build }: Question, isFirst: boolean): WireRequest {
    if (this.#over) throw cancelled();
    try {
      return build();
    } catch (error) {
      const mayHaveRun = false;
      if (!(error instanceof UnbuildableRequest))
        throw new VendorFailure({ ...failureOfKind("gateway_internal", String(error)), mayHaveRun });
      if (!isFirst) throw new VendorFailure(failureOfKind("provider_malformed", error.message));
      const told = new GatewayError("bad_request", { detail: error.message });
      throw new VendorFailure({ ...failureOfKind("caller_invalid", error.message), told, mayHaveRun });
    }
  }

  /** Pays the vendor and sends the same request again, once. A second 402 is an ordinary answer. */
  async #paid(
    answer: VendorAnswer,
    request: WireRequest,
    { login, question }: { readonly login: Login; readonly question: Question },
  ): Promise<VendorAnswer> {
    // Do not pay before a permit for the second request is available.
    const permit = this.#permit(0);
    if (permit.waitMs > 0) await this.#waitFor(permit);
    const payment = (await login.pay({ ...answer, request })) ?? null;
    if (payment === null) {
      permit.cancel();
      return answer;
    }
    if ("unpaid" in payment) throw new VendorFailure(payment.unpaid);
    return this.#withPayment(payment, request, question);
  }

  async #withPayment(payment: Payment, request: WireRequest, question: Question): Promise<VendorAnswer> {
    const before = this.paidNano;
    this.shown.push(...Object.values(payment.headers), ...(payment.secrets ?? []));
    // Until the vendor refuses the payment, assume that it took it, even if no answer arrives.
    this.paidNano = add(before ?? ZERO, payment.costNano);
    const headers = { ...request.headers, ...payment.headers };
    let again: VendorAnswer | null = null;
    try {
      again = await this.#exchange({ ...request, headers }, { ...question, redirectsMax: 0 });
    } finally {
      if (again?.status === 402) this.paidNano = before;
      await payment.answered?.(again);
    }
    return again;
  }

  #exchange(request: WireRequest, question: Question): Promise<VendorAnswer> {
    const { sidecar = null } = this.#options;
    if (this.#over) throw cancelled();
    const { msMax = Number.POSITIVE_INFINITY } = question;
    const leftMs = () => Math.max(1, Math.min(msMax, this.#leftMs));
    const exchange =
      sidecar === null ? new VendorExchange(question, this.#options, leftMs) : new SidecarExchange(sidecar, leftMs());
    this.#running.add(exchange);
    return exchange.run(request).then(
      (answer) => {
        this.status = answer.status;
        this.#ended(exchange, true);
        return answer;
      },
      (error: unknown) => {
        // The vendor may have acted on an accepted request, even if its answer was lost.
        this.#ended(exchange, error instanceof VendorFailure && error.failure.mayHaveRun !== false);
        throw error;
      },
    );
  }

  #ended(exchange: VendorExchange | SidecarExchange, wasAsked: boolean): void {
    this.#taken ||= wasAsked && exchange.accepted;
    // Keep a stopped exchange, so that `accepted` still covers it.
    if (!this.#over) this.#running.delete(exchange);
  }
}

/** No time is left for the request: its rate limiter asks for `limiterMs`; null: the requested wait was too long. */
function outOfTime(limiterMs: number | null): VendorFailure {
  const kind = limiterMs === null ? "provider_timeout" : "provider_rate_limited";
  const failure = failureOfKind(kind, "the vendor could not be asked in time");
  return new VendorFailure({ ...failure, retryAfterMs: limiterMs, mayHaveRun: false });
}

// Asks a vendor on behalf of one call: each exchange waits for a permit and comes back as a whole answer, all by one deadline.
import type { Dispatcher } from "undici";
import type { Payment } from "../catalog/auth.ts";
import type { Adapter } from "../catalog/catalog.ts";
import type { Messages } from "../catalog/script.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { add, type Nano, ZERO } from "../core/money.ts";
import { UnbuildableRequest, type WireRequest } from "./build-request.ts";
import type { Login } from "./login.ts";
import type { VendorAnswer } from "./read-answer.ts";
import type { AskedSidecar } from "./sidecar/sidecar.ts";
import { SidecarExchange } from "./sidecar/sidecar-exchange.ts";
import type { Splice } from "./splice.ts";
import { VendorExchange } from "./vendor-exchange.ts";
import { cancelled, failureOfKind, VendorFailure } from "./vendor-failure.ts";
import type { NoPermit, Permit, PermitRequest } from "./vendor-rate-limiter.ts";

/** With less left nothing is asked: a timer may run out more than a millisecond early, and a call that timed out stays so. */
const LEFT_MS_MIN = 3;

export interface Question {
  /** Called once the permit is due. Throws UnbuildableRequest. */
  build(): WireRequest;
  readonly redirectsMax: number;
  /** It is not sent before so many milliseconds have passed. */
  readonly afterMs: number;
  /** Takes a long answer over; null: the answer is wanted whole. */
  readonly splice: Splice | null;
  /** Hears a good answer's messages instead of it being kept. Default: it is kept. */
  readonly messages?: Messages;
  /** The most that this exchange may take, in milliseconds. Default: what is left of the whole. */
  readonly msMax?: number;
}

export interface VendorClientOptions {
  readonly adapter: Adapter;
  /** Asks the vendor's rate limiter for a permit, which may say how long to wait first. */
  readonly acquire: (request: PermitRequest) => Permit | NoPermit;
  /** For all that is asked together, in milliseconds. */
  readonly msMax: number;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  /** The process that is asked in the vendor's place; null: the vendor is asked. */
  readonly sidecar?: AskedSidecar | null;
  /** Shows our key and pays. Default: requests go as they were built. */
  readonly login?: Login;
}

/** What can be stopped: a wait for a permit, or an exchange. */
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
  /** What the vendor was paid in answer to its 402s; null: it asked for nothing. */
  paidNano: Nano | null = null;
  /** What was shown of payments, which no failure may tell. */
  readonly shown: string[] = [];

  constructor(options: VendorClientOptions) {
    this.#options = options;
    this.#endsMs = options.clock.elapsedMs() + options.msMax;
  }

  /** One exchange. Throws VendorFailure where no whole answer comes; what the answer means is for others to say. */
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
      // What came before has been acted on, whatever becomes of this one.
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

  /** Stops all that runs; those who wait for an answer are thrown a VendorFailure. */
  abort(): void {
    this.#over = true;
    for (const one of this.#running) one.abort();
  }

  /** A request has been written whole to the vendor, and no refusal has come; or it was paid. */
  get accepted(): boolean {
    return this.#taken || this.paidNano !== null || [...this.#running].some((one) => one.accepted === true);
  }

  get #leftMs(): number {
    return this.#endsMs - this.#options.clock.elapsedMs();
  }

  /** The limiter's leave, which may have to be waited for. Throws VendorFailure where there is none in time. */
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
      // The vendor may have asked to be left alone since the permit was given.
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

  /** The vendor wants to be paid: the very same request goes again, once. A second 402 is an answer like any other. */
  async #paid(
    answer: VendorAnswer,
    request: WireRequest,
    { login, question }: { readonly login: Login; readonly question: Question },
  ): Promise<VendorAnswer> {
    // Before anything is paid there has to be leave to ask again.
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
    // Until the vendor refuses the payment, it may have taken it, even if no answer comes.
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
    const { adapter, dispatcher, clock, sidecar = null } = this.#options;
    if (this.#over) throw cancelled();
    const { redirectsMax, splice, messages = null, msMax = Number.POSITIVE_INFINITY } = question;
    const leftMs = () => this.#leftMs;
    const options = { adapter, dispatcher, clock, redirectsMax, splice, messages, msMax, leftMs };
    const exchange =
      sidecar === null
        ? new VendorExchange(options)
        : new SidecarExchange(sidecar, Math.max(1, Math.min(msMax, this.#leftMs)));
    this.#running.add(exchange);
    return exchange.run(request).then(
      (answer) => {
        this.status = answer.status;
        this.#ended(exchange, true);
        return answer;
      },
      (error: unknown) => {
        // What a vendor has taken up it may have done, whatever became of its answer on the way.
        this.#ended(exchange, error instanceof VendorFailure && error.failure.mayHaveRun !== false);
        throw error;
      },
    );
  }

  #ended(exchange: VendorExchange | SidecarExchange, wasAsked: boolean): void {
    this.#taken ||= wasAsked && exchange.accepted;
    // One that was stopped is kept, so that it can still say whether it was accepted.
    if (!this.#over) this.#running.delete(exchange);
  }
}

/** No time is left to ask the vendor: its rate limiter asks for `limiterMs`, or (null) the wait before it was too long. */
function outOfTime(limiterMs: number | null): VendorFailure {
  const kind = limiterMs === null ? "provider_timeout" : "provider_rate_limited";
  const failure = failureOfKind(kind, "the vendor could not be asked in time");
  return new VendorFailure({ ...failure, retryAfterMs: limiterMs, mayHaveRun: false });
}

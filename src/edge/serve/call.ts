// One request at the edge, from its arrival to its last byte. Each phase of serve reads it and adds what it learns.
import type { Endpoint, FramedOpenPlan, GatewayRequest, PlanCall, Reply, Retirement } from "../../core/endpoint.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { usdText } from "../../core/money.ts";
import type { Audience, Caller } from "../../core/plan.ts";
import type { OpenRun } from "../../money/runs/open-run.ts";
import { rateLimitHeaders, type WindowState } from "../../platform/limits/request-windows.ts";
import type { RequestRecord } from "../../platform/observe/record.ts";
import { idsOf, readTraceparent } from "../../platform/observe/trace-context.ts";
import type { CallContent } from "./call-content.ts";
import type { ServeDeps } from "./deps.ts";

export class RateLimit {
  readonly #reply: Reply;
  #state: WindowState | null = null;
  #isTold = false;

  constructor(reply: Reply) {
    this.#reply = reply;
  }

  /** Keeps the count with less remaining: the other has not seen every request. */
  learn(state: WindowState): WindowState {
    if (this.#state === null || state.remaining <= this.#state.remaining) this.#state = state;
    return state;
  }

  /** Writes the headers, once; call it before the answer's head is written. */
  tell(): void {
    if (this.#isTold || this.#state === null) return;
    this.#isTold = true;
    rateLimitHeaders(this.#state, (name, value) => this.#reply.header(name, value));
    this.#state = null;
  }
}

const HEADER = "traceparent";

/** A malformed header is ignored, as the standard requires. */
function continueTrace(request: GatewayRequest, reply: Reply, record: RequestRecord): void {
  const header = request.headers.get(HEADER);
  const begun = header === undefined ? null : readTraceparent(header);
  if (begun === null) return;
  const { spanId } = idsOf(request.id);
  record.trace = { ...begun, spanId };
  reply.header(HEADER, `00-${begun.traceId}-${spanId}-${begun.flags}`);
}

/** A caller without a key: the payer is known once the plan has its price. */
export const ANONYMOUS: Audience = {
  sandbox: false,
  payer: null,
  allows: { services: null, models: null },
  strictBounds: false,
};

type Ending = (error: unknown) => void | Promise<void>;

export class Call implements PlanCall {
  readonly request: GatewayRequest;
  readonly endpoint: Endpoint;
  readonly record: RequestRecord;
  readonly rateLimit: RateLimit;
  /** Where the answer goes. The cache and the taps replace it with a copying reply. */
  reply: Reply;
  /** Null where the endpoint needs no key and the request has no valid one. */
  caller: Caller | null = null;
  /** Why the credential was refused, where the endpoint needs none. */
  notAdmitted: GatewayError | null = null;
  audience: Audience = ANONYMOUS;
  retires: Retirement | undefined = undefined;
  framed: FramedOpenPlan | null = null;
  /** Collects request and answer for a span; null: no span shows them. */
  content: CallContent | null = null;
  /** The run that the call is part of; null: none. */
  run: OpenRun | null = null;
  /** Equal for equal requests; only of a call in a run. */
  requestHash: string | undefined;
  #isRunTold = false;
  /** The answer has been written: no further phase runs. */
  isAnswered = false;
  refusal: GatewayError | null = null;
  #endings: Ending[] | null = null;

  constructor(request: GatewayRequest, endpoint: Endpoint, reply: Reply, { observer }: Pick<ServeDeps, "observer">) {
    const { id: requestId, method, startedMs } = request;
    this.request = request;
    this.endpoint = endpoint;
    this.reply = reply;
    this.rateLimit = new RateLimit(reply);
    this.record = observer.begin({ requestId, method, startedMs });
    this.record.bytesIn = request.body.length;
    continueTrace(request, reply, this.record);
    // Clients of this format look for the id in another header than `x-request-id`.
    const { requestIdHeader } = endpoint.errors;
    if (requestIdHeader !== undefined) reply.header(requestIdHeader, requestId);
  }

  /** Makes the endpoint plan the call; the guard makes it plan again after replacing the body. */
  plan(): Promise<void> | void {
    if (!("plan" in this.endpoint)) return;
    try {
      const made = this.endpoint.plan(this);
      if (made instanceof Promise) return this.#planned(made);
      this.framed = made;
    } catch (error) {
      this.refuse(refusalIn(error));
    }
  }

  async #planned(made: Promise<FramedOpenPlan>): Promise<void> {
    this.framed = this.orRefuse(await made.catch(refusalIn));
  }

  /** Adds what the call's run has left to the head, which is about to be written. */
  tellRun(): void {
    if (this.run === null || this.#isRunTold) return;
    this.#isRunTold = true;
    this.reply.header("x-tollgate-run-remaining-usd", usdText(this.run.leftNano));
  }

  /** Ends the call with an expected error, which `serve` renders. */
  refuse(error: GatewayError): never {
    this.refusal = error;
    throw error;
  }

  orRefuse<Value>(value: Value | GatewayError): Value {
    return value instanceof GatewayError ? this.refuse(value) : value;
  }

  /** Endings run in reverse order, before an error is rendered. */
  onEnd(ending: Ending): void {
    this.#endings ??= [];
    this.#endings.push(ending);
  }

  get hasEndings(): boolean {
    return this.#endings !== null;
  }

  /** Runs every ending, even where one fails, and then rejects with the first failure: other calls may wait for an ending. */
  async end(error: unknown): Promise<void> {
    const failures: unknown[] = [];
    for (const ending of this.#endings?.toReversed() ?? []) {
      try {
        await ending(error);
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

export function addHeaders(reply: Reply, headers: Readonly<Record<string, string>> | undefined): void {
  for (const name in headers) if (Object.hasOwn(headers, name)) reply.header(name, headers[name] ?? "");
}

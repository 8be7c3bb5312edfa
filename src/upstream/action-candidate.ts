// One vendor's way to serve an action: gathers what its attempts need.
import type { Dispatcher } from "undici";
import type { ActionSpec } from "../catalog/action.ts";
import type { ActionOffer, Adapter } from "../catalog/catalog.ts";
import type { TableEndpoint } from "../catalog/endpoint-table.ts";
import type { RequestSpec, StepSpec } from "../catalog/request-spec.ts";
import type { Params } from "../catalog/said.ts";
import type { Clock } from "../core/clock.ts";
import { getOrMake } from "../core/maps.ts";
import type { AnswerSink, Attempt, AttemptFailure, Candidate } from "../core/route.ts";
import type { Login, Paying } from "./access-tokens.ts";
import { type Around, openActionAttempt } from "./action-attempt.ts";
import { ReadyRequest } from "./build-request.ts";
import { type Rulebook, rulebookOf } from "./judge-answer.ts";
import type { KeyRing } from "./key-ring.ts";
import type { Sidecar } from "./sidecar/sidecar.ts";
import type { VendorRateLimiter } from "./vendor-rate-limiter.ts";

const TIMEOUT_MS = 60_000;

export interface ActionOrder {
  /** The sold action, `<service>/<action>`. */
  readonly soldId: string;
  /** In the form of the offer's own action. */
  readonly params: Params;
  /** The row of the offer's endpoint table that the params select. */
  readonly row: TableEndpoint | null;
  readonly requestId: string;
  /** The transaction id. Default: the request id. */
  readonly callId?: string;
  /** The paying account. Absent: the gateway itself. */
  readonly payerId?: string;
  /** Replaces the vendor's ids in JSON by the caller's. */
  readonly restore: (json: string) => string;
  /** Bytes to write before an answer that is streamed through unread; null if every answer must be read. */
  readonly preamble: Buffer | null;
  /** Hooks around each attempt. Default: none. */
  readonly around?: Around | null;
  /** The payment terms for a vendor that charges by the call. Default: no payment. */
  readonly paying?: Pick<Paying, "mostNano" | "isCallers" | "priced">;
  /** For a sandbox account: the fault that the caller requested. */
  readonly sandbox: { readonly fault: string | null } | null;
}

export interface ActionCandidate extends Candidate {
  readonly offer: ActionOffer;
}

export interface ActionCandidateParts {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly ringOf: (adapter: Adapter) => KeyRing;
  readonly restKey: (adapter: Adapter, key: string, failure: AttemptFailure) => AttemptFailure;
  readonly limiter: VendorRateLimiter;
  /** The process that replaces a vendor's HTTP API, for one of our keys; null if the vendor has HTTP. */
  readonly sidecarOf: (adapter: Adapter, key: string) => Sidecar | null;
  readonly loginOf: (adapter: Adapter, key: string, paying?: Paying) => Login;
  readonly readyOf: (offer: ActionOffer) => ReadyAction;
}

/** The time limit of an action as a whole, in milliseconds. */
export function actionMsMax(offer: ActionOffer): number {
  return offer.spec.timeoutMs ?? TIMEOUT_MS;
}

export function actionCandidate(offer: ActionOffer, order: ActionOrder, parts: ActionCandidateParts): ActionCandidate {
  const { adapter, healthKey } = offer;
  const { soldId, row } = order;
  const msMax = actionMsMax(offer);
  return {
    offer,
    provider: adapter.id,
    model: soldId,
    // Each row of a table is a separate model or endpoint, so its failures say nothing about the others.
    healthKey: row === null ? healthKey : `${healthKey} ${row.method} ${row.path}`,
    firstTokenMsMax: msMax,
    lastFirstTokenMsMax: msMax,
    readOnMsMax: 0,
    // Params were validated before, so if one vendor rejects them, every vendor would.
    pointlessAfter: (_, kind) => kind === "caller_invalid",
    open(sink: AnswerSink, firstMsMax: number): Attempt {
      const key = parts.ringOf(adapter).take();
      return openActionAttempt({ offer, order, parts, key }, Math.min(msMax, firstMsMax), sink);
    },
  };
}

// The parts of an action that its calls share, built once: its requests except the params, and the rules for its answers.

/** Whether a call asks for a list that also contains other callers' items. */
export function isListing({ lists }: ActionSpec, params: Params): boolean {
  return lists !== undefined && params[lists.by] !== undefined;
}

export class ReadyAction {
  readonly #offer: ActionOffer;
  readonly #ofSpec: ReadonlySet<RequestSpec | undefined>;
  readonly #requests = new Map<RequestSpec, ReadyRequest>();
  readonly #rulebooks = new Map<StepSpec | null, Rulebook>();

  constructor(offer: ActionOffer) {
    this.#offer = offer;
    const { request, steps = [] } = offer.spec;
    this.#ofSpec = new Set([request, ...steps.map((step) => step.request)]);
  }

  /** Undefined for a script's request, which varies from call to call. */
  request(spec: RequestSpec): ReadyRequest | undefined {
    if (!this.#ofSpec.has(spec)) return undefined;
    return getOrMake(this.#requests, spec, () => new ReadyRequest(this.#offer.adapter, spec));
  }

  /** For the answer to a step; null: to the action's own request or a script's. In a listing, rules about one item do not apply. */
  rulebook(step: StepSpec | null, params: Params): Rulebook {
    const { adapter, spec } = this.#offer;
    if (isListing(spec, params)) return rulebookOf(adapter.spec, { ...spec, rules: [] }, null);
    return getOrMake(this.#rulebooks, step, () => rulebookOf(adapter.spec, spec, step));
  }
}

// Plans a checked call of an action, over HTTP or within another call: its quote, hold, route and cost.
import type { LocalAction } from "../../catalog/local-action.ts";
import { GatewayError } from "../../core/errors.ts";
import { jobIdOf } from "../../core/ids.ts";
import { callsAffordable, least, type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import {
  type HoldSpec,
  isAccountPayer,
  type OpenPlan,
  type Payer,
  type Plan,
  type Quote,
  type Slot,
} from "../../core/plan.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { actionCost, isFree, quoteCents } from "./action-price.ts";
import type { ActionOrder, RunDeps } from "./deps.ts";
import { localCandidate } from "./local-candidate.ts";
import { takesMoreWith } from "./prepaid-sessions.ts";
import type { CheckedCall } from "./read-call.ts";
import { type Serving, SoldServing, WHOLE_MS_MORE } from "./vendor-serving.ts";

const ATTEMPTS_MAX = 4;
const LOCAL_MS_MAX = 120_000;
/** A little longer than an event stream lasts. */
const EVENTS_MS_MAX = 3_660_000;
/** The job that takes over a kept hold renews it several times within this time. */
export const KEPT_LEASE_MS = 1_800_000;

/** Makes a quote that also says how many such calls the remaining money pays for. */
function quoteOf(nano: Nano, upstreamNano: Quote["upstreamNano"], tighten: Quote["tighten"] = null): Quote {
  const affordable = (free: Nano) => ({ affordable_calls: callsAffordable(free, nano) });
  return { nano, tighten, affordable, upstreamNano };
}

function slotsOf({ id, launches }: CatalogAction): readonly Slot[] {
  return launches === undefined ? [] : [{ scope: `jobs ${id}`, max: launches.inFlightMax, code: "too_many_inflight" }];
}

export class ActionPlanner {
  readonly #call: CheckedCall;
  readonly #order: ActionOrder;
  readonly #deps: RunDeps;
  readonly #cents: number;
  /** The most that the call may cost its payer. Depends only on the params. */
  readonly #quoteNano: Nano;

  constructor(call: CheckedCall, order: ActionOrder, deps: RunDeps) {
    this.#call = call;
    this.#order = order;
    this.#deps = deps;
    const { price } = call.action.facts;
    this.#cents = quoteCents(price, call.params, call.row);
    const nano = nanoFromCents(this.#cents);
    const { maxCostNano } = order;
    this.#quoteNano = price.needsMaxCost === true && maxCostNano !== null ? least(nano, maxCostNano) : nano;
  }

  get #head() {
    const { action } = this.#call;
    const { eventBytes, tags = [] } = this.#order;
    const whilePaused = isFree(action.facts.price);
    return { operation: "run", asked: action.id, streamed: eventBytes !== undefined, whilePaused, tags };
  }

  /** Before the payer is known. */
  open(): OpenPlan {
    return {
      ...this.#head,
      quote: quoteOf(this.#quoteNano, () => ZERO),
      exactPrice: this.#isExact(),
      forPayer: (payer) => this.plan(payer),
    };
  }

  /** Throws the refusal if it cannot run. */
  plan(payer: Payer): Plan | Promise<Plan> {
    const { action, params, row } = this.#call;
    if (action.kind === "local") return this.#servedPlan(this.#servedHere(action.local, payer), payer);
    const call = { sold: action.sold, params, row, payer };
    const serving = new SoldServing(call, this.#order, this.#quoteNano, this.#deps).serving();
    return serving instanceof Promise
      ? serving.then((made) => this.#servedPlan(made, payer))
      : this.#servedPlan(serving, payer);
  }

  #servedPlan(serving: Serving, payer: Payer): Plan {
    const { action, row } = this.#call;
    const { price, effect } = action.facts;
    const { maxCostNano, idempotency } = this.#order;
    if (price.needsMaxCost === true && maxCostNano === null)
      throw new GatewayError("max_cost_required", { detail: { asked: action.id }, param: "max_cost_cents" });
    const quoteNano = this.#quoteNano;
    const priceVersion = `${action.id}@${this.#cents}c`;
    return {
      ...this.#head,
      effect,
      quote: quoteOf(quoteNano, serving.upstreamNanoMax, serving.tighten),
      hold: this.#hold(payer),
      maxCostNano,
      slots: slotsOf(action),
      inference: false,
      idempotency: isFree(price) ? null : idempotency,
      route: serving.route,
      wholeMsMax: serving.wholeMsMax,
      whenCallerLeaves: serving.whenCallerLeaves,
      prepare: serving.prepare,
      attemptsMax: ATTEMPTS_MAX,
      failedStatus: 500,
      timedOutStatus: 500,
      cost(candidate, reading) {
        const offered = serving.offeredBy(candidate);
        const served = offered === null ? null : { spec: offered.offer.spec, params: offered.params, row };
        return actionCost({ price, priceVersion, quoteNano, served, reading });
      },
    };
  }

  #servedHere(local: LocalAction, payer: Payer): Serving {
    const { action, params } = this.#call;
    const { msMax = LOCAL_MS_MAX } = this.#order.eventBytes === undefined ? local : { msMax: EVENTS_MS_MAX };
    const order = { ...this.#order, payer, msMax, quoteNano: this.#quoteNano };
    return {
      offeredBy: () => null,
      route: retrying(localCandidate(local, params, order, this.#deps)),
      wholeMsMax: msMax + WHOLE_MS_MORE,
      // A free read is useless once the caller has left.
      whenCallerLeaves: isFree(action.facts.price) && action.facts.effect === "read" ? "abort" : "finish",
      tighten: null,
      upstreamNanoMax: () => nanoFromCents(local.upstreamCentsMax?.(params) ?? 0),
      prepare: null,
    };
  }

  /** A launch passes its hold to the job; a free call needs none. */
  #hold(payer: Payer): HoldSpec {
    const { action, params } = this.#call;
    const { id, sandboxFault, callerTraceId, maxCostNano, tags = [] } = this.#order;
    const { launches } = action;
    if (launches === undefined) return { kind: isFree(action.facts.price) ? "none" : "call" };
    const { job, onExpire = "void" } = launches;
    const isChained = launches.chained === true && isAccountPayer(payer);
    const chain = isChained
      ? { firstId: id, keyId: payer.keyId, asked: action.id, slots: slotsOf(action), onExpire }
      : null;
    return {
      kind: "kept",
      owner: `job:${jobIdOf(id)}`,
      leaseMs: KEPT_LEASE_MS,
      onExpire,
      job,
      action: action.id,
      start: launches.start === undefined ? params : launches.start(params, maxCostNano),
      tags,
      sandboxFault,
      ...(callerTraceId === undefined ? null : { callerTraceId }),
      ...(chain === null ? null : { chain }),
    };
  }

  /** Whether the params alone decide the price, and our own cost where there is one. */
  #isExact(): boolean {
    const { action, params } = this.#call;
    const { price } = action.facts;
    const offers = action.kind === "sold" ? action.sold.offers : [];
    return (
      price.counted === undefined &&
      price.needsMaxCost !== true &&
      price.paid === undefined &&
      action.launches === undefined &&
      !offers.some(({ spec: { prepaid } }) => takesMoreWith(prepaid, params))
    );
  }
}

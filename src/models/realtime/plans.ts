// The plans of a session's paid parts: a response, and the transcription of speech.
import type { SoldUnitModel, UnitOffer } from "../../catalog/catalog.ts";
import { costOfCounts } from "../../catalog/unit-price.ts";
import { affordable, callsAffordable, minus, type Nano, type PicoPerToken } from "../../core/money.ts";
import type { Plan } from "../../core/plan.ts";
import type { Counts } from "../../core/route.ts";
import { tokensOf } from "../chat/unit-plan.ts";
import type { MeteredCall } from "./metered-call.ts";

/** A response with less room is not worth its price. */
const OUTPUT_TOKENS_MIN = 256;

/** The sold model, and the offer that serves it. */
export interface SoldBy {
  readonly model: SoldUnitModel;
  readonly offer: UnitOffer;
}

export interface PartOrder extends SoldBy {
  readonly call: MeteredCall;
  readonly tags: readonly string[];
  readonly msMax: number;
}

type Common = Omit<Plan, "operation" | "quote" | "route">;

function common({ model, offer, tags, msMax }: PartOrder): Common {
  return {
    asked: model.slug,
    streamed: true,
    effect: "read",
    hold: { kind: "call" },
    whilePaused: false,
    maxCostNano: null,
    slots: [],
    inference: true,
    idempotency: null,
    tags,
    wholeMsMax: msMax,
    attemptsMax: 1,
    failedStatus: 502,
    timedOutStatus: 504,
    whenCallerLeaves: "abort",
    cost(_, reading) {
      const { counts = {}, usage } = reading;
      return {
        chargeNano: costOfCounts(model.sale, counts),
        upstreamNano: costOfCounts(offer.cost, counts),
        usage: tokensOf(counts),
        estimated: usage === null,
        priceVersion: model.sale.version,
      };
    },
    prepare: null,
  };
}

function servedBy({ model, offer }: SoldBy) {
  return { provider: offer.adapter.id, model: model.slug, healthKey: offer.healthKey };
}

export interface ResponseOrder extends PartOrder {
  readonly input: Counts;
  /** The answer has no sound. */
  readonly isText: boolean;
  readonly outputTokensMax: number;
  /** The output limit that the money allows, at most `outputTokensMax`. */
  lowered(outputTokensMax: number): void;
}

/** Holds the whole input and the output limit, which is lowered to what the money allows. */
export function responsePlan(order: ResponseOrder): Plan {
  const { model, offer, input, isText, outputTokensMax, call } = order;
  const { rates } = model.sale;
  const unit = isText || (rates.get("textOut") ?? 0) > (rates.get("audioOut") ?? 0) ? "textOut" : "audioOut";
  const nanoOf = (tokens: number) => costOfCounts(model.sale, { ...input, [unit]: tokens });
  const route = call.route(servedBy(order));
  const fitting = (free: Nano): number => {
    const left = minus(free, costOfCounts(model.sale, input));
    return affordable(left, rates.get(unit) ?? (0 as PicoPerToken)) ?? 0;
  };
  return {
    ...common(order),
    operation: "realtime",
    route,
    quote: {
      nano: nanoOf(outputTokensMax),
      tighten: null,
      within(free) {
        const tokens = Math.min(outputTokensMax, fitting(free));
        if (tokens < Math.min(OUTPUT_TOKENS_MIN, outputTokensMax) || nanoOf(tokens) > free) return null;
        order.lowered(tokens);
        return { nano: nanoOf(tokens), route };
      },
      affordable: (free) => ({ affordable_output_tokens: fitting(free) }),
      upstreamNano: () => costOfCounts(offer.cost, { ...input, [unit]: outputTokensMax }),
    },
  };
}

/** Holds the transcription of at most these units. */
export function transcriptionPlan(order: PartOrder & { readonly countsMax: Counts }): Plan {
  const { model, offer, call, countsMax } = order;
  const nano = costOfCounts(model.sale, countsMax);
  return {
    ...common(order),
    operation: "transcription",
    route: call.route(servedBy(order)),
    quote: {
      nano,
      tighten: null,
      affordable: (free) => ({ affordable_calls: callsAffordable(free, nano) }),
      upstreamNano: () => costOfCounts(offer.cost, countsMax),
    },
  };
}

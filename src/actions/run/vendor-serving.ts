// Serves a call of an action through vendors: its candidates, the checks before them, and what to store from the answer.
import type { PriceSpec } from "../../catalog/action.ts";
import type { ActionOffer, SoldAction } from "../../catalog/catalog.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import { add, least, type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import type { Payer, Plan, Quote } from "../../core/plan.ts";
import type { Candidate, FinalPart, Reading } from "../../core/route.ts";
import { ladder } from "../../kernel/routes/ladder.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import {
  type ActionCandidate,
  actionMsMax,
  type ActionOrder as CandidateOrder,
  isListing,
} from "../../upstream/action-candidate.ts";
import { upstreamCentsOf } from "./action-price.ts";
import { binaryAnswer, type RawBytes } from "./binary-answer.ts";
import type { ActionOrder, RunDeps } from "./deps.ts";
import { withLinks } from "./linked-files.ts";
import { type CheckedCall, fieldsError } from "./read-call.ts";
import { foreignId, type HiddenIds, hideIds, keepIssued, ownItems } from "./vendor-ids.ts";

interface OfferedCall {
  readonly offer: ActionOffer;
  /** In the offer's own names, with the ids that the caller chose. */
  readonly params: Params;
  readonly hidden: HiddenIds;
}

/** The most that we may pay a vendor that charges per call. */
type MerchantBound = NonNullable<CandidateOrder["paying"]>;

interface SoldCall extends Pick<CheckedCall, "params" | "row"> {
  readonly sold: SoldAction;
  readonly payer: Payer;
}

/** The params in the offer's names, or the params that it cannot take. */
function paramsFor(offer: ActionOffer, { sold, params }: SoldCall): Params | readonly FieldIssue[] {
  if (sold.offers.length === 1 && sold.facts === offer.spec) return params;
  const lacking = offer.lacks.filter((name) => params[name] !== undefined);
  if (lacking.length > 0) return lacking.map((path) => ({ path, message: `is not possible with ${offer.adapter.id}` }));
  const given = Object.entries(params).filter(([name, value]) => name !== sold.pinnedBy && value !== undefined);
  const own = Object.fromEntries(given.map(([name, value]) => [offer.names[name] ?? name, value]));
  const read = readFields(offer.spec.params, own);
  return "data" in read ? read.data : read;
}

/** The calls of the vendors that can serve it. Throws if none can. */
export function offeredCalls(call: SoldCall): readonly OfferedCall[] {
  const { sold, params, payer } = call;
  const pinned = sold.pinnedBy === null ? undefined : params[sold.pinnedBy];
  const named = pinned === undefined ? sold.offers : sold.offers.filter(({ adapter }) => adapter.id === pinned);
  const read = named.map((offer) => ({ offer, params: paramsFor(offer, call) }));
  const able = read.filter((one): one is { offer: ActionOffer; params: Params } => !Array.isArray(one.params));
  if (able.length === 0) {
    const issues = read[0]?.params as readonly FieldIssue[] | undefined;
    throw fieldsError(issues ?? [{ path: sold.pinnedBy ?? "", message: "names no vendor that serves this" }]);
  }
  const reachable = able.filter(({ offer }) => offer.adapter.configured);
  if (reachable.length === 0) throw new GatewayError("upstream_not_configured", { detail: sold.id });
  return reachable.map(({ offer, params: own }) => ({ offer, params: own, hidden: hideIds(offer.spec, own, payer) }));
}

/** Margin of the deadline over the attempts, whose own errors say more than a deadline's. */
export const WHOLE_MS_MORE = 1_000;

/** Where a vendor's action and one of ours differ. */
export interface Serving extends Pick<Plan, "route" | "wholeMsMax" | "whenCallerLeaves" | "prepare"> {
  offeredBy(candidate: Candidate): OfferedCall | null;
  /** The most that the call can cost us. */
  upstreamNanoMax(): Nano;
  /** Asks a merchant for its price where the payer has less than the listed price; null: the listed price applies. */
  readonly tighten: Quote["tighten"];
}

/** Whether the answer must be changed, or part of it stored, before the caller gets it. */
function needsCare({ offer, params, hidden }: OfferedCall, servedAs: string | null): boolean {
  const { issues = [], answer } = offer.spec;
  return (
    isListing(offer.spec, params) ||
    issues.length > 0 ||
    answer?.kind === "bytes" ||
    hidden.params !== params ||
    servedAs !== null
  );
}

/** A call that vendors serve, once its payer and price are known. */
export class SoldServing {
  readonly #call: SoldCall;
  readonly #order: ActionOrder;
  readonly #deps: RunDeps;
  /** The most that we may pay a merchant. Drops to the merchant's price once that is known. */
  readonly #bound: { mostNano: Nano; readonly isCallers: boolean };

  constructor(call: SoldCall, order: ActionOrder, quoteNano: Nano, deps: RunDeps) {
    this.#call = call;
    this.#order = order;
    this.#deps = deps;
    this.#bound = { mostNano: quoteNano, isCallers: call.sold.facts.price.needsMaxCost === true };
  }

  /** Throws the refusal if no vendor can serve it. Asynchronous only where the action takes files or ids that it issued before, which is rare. */
  serving(): Serving | Promise<Serving> {
    const offered = offeredCalls(this.#call);
    const isPlain = offered.every(({ offer: { spec } }) => spec.requires === undefined && spec.files === undefined);
    return isPlain ? this.#servedBy(offered) : this.#checked(offered);
  }

  async #checked(offered: readonly OfferedCall[]): Promise<Serving> {
    const { payer } = this.#call;
    const { records, prepaidSessions, linkFile } = this.#deps;
    for (const { offer, params } of offered) {
      if (offer.spec.requires === undefined) continue;
      const foreign = await foreignId(offer, params, { payer, records });
      const refused = foreign ?? (await prepaidSessions.refusal(offer, params, payer));
      if (refused !== null) throw refused;
    }
    const linked: OfferedCall[] = [];
    for (const one of offered) {
      const params = await withLinks(one.offer, one.hidden.params, { payer, linkFile });
      linked.push({ ...one, hidden: { ...one.hidden, params } });
    }
    return this.#servedBy(offered, linked);
  }

  /** `linked`: the calls to send, with links in place of file ids. */
  #servedBy(offered: readonly OfferedCall[], linked = offered): Serving {
    const { sold, row } = this.#call;
    const byCandidate = this.#candidates(linked, this.#bound);
    const offeredBy = (candidate: Candidate) => byCandidate.get(candidate as ActionCandidate) ?? null;
    return {
      offeredBy,
      route: ladder([...byCandidate.keys()].map(retrying)),
      wholeMsMax: offered.reduce((sum, { offer }) => sum + actionMsMax(offer), WHOLE_MS_MORE),
      whenCallerLeaves: "finish",
      tighten: this.#asksMerchant(sold.facts.price) ? () => this.#askedNano(linked) : null,
      upstreamNanoMax: () =>
        offered.map(({ offer, params }) => nanoFromCents(upstreamCentsOf(offer.spec, params, row))).reduce(add, ZERO),
      prepare: offered.some((one) => needsCare(one, sold.servedAs))
        ? async (final, served, reading) => {
            const one = offeredBy(served);
            return one === null || final.kind === "stream" ? final : this.#careFor(final, reading, one);
          }
        : null,
    };
  }

  #candidates(offered: readonly OfferedCall[], paying: MerchantBound): ReadonlyMap<ActionCandidate, OfferedCall> {
    const { sold, row, payer } = this.#call;
    const { id, requestId, preamble, sandboxFault } = this.#order;
    const { upstream, prepaidSessions } = this.#deps;
    const candidates = offered.map((one) => {
      const candidate = upstream.actionCandidate(one.offer, {
        soldId: sold.id,
        params: one.hidden.params,
        row,
        requestId,
        callId: id,
        payerId: payer.id,
        around: prepaidSessions.around(one.offer, one.params, { payer, callId: id }),
        paying,
        restore: one.hidden.restore,
        preamble: sold.servedAs === null ? preamble : null,
        sandbox: payer.sandbox ? { fault: sandboxFault } : null,
      });
      return [candidate, one] as const;
    });
    return new Map(candidates);
  }

  /** Whether asking a merchant for a price below the listed one could matter. */
  #asksMerchant({ paid, needsMaxCost }: PriceSpec): boolean {
    if (paid === undefined || needsMaxCost === true) return false;
    const { mostNano } = this.#bound;
    const { maxCostNano } = this.#order;
    return nanoFromCents(paid.exampleCents) < mostNano || (maxCostNano !== null && maxCostNano < mostNano);
  }

  /** Reads the price from a merchant's 402, by a request without payment; we then pay no more than that. No 402: the listed price. */
  async #askedNano(linked: readonly OfferedCall[]): Promise<Nano> {
    const bound = this.#bound;
    const priced = (nano: Nano) => {
      bound.mostNano = least(bound.mostNano, nano);
    };
    const paying = { ...bound, priced };
    for (const candidate of this.#candidates(linked, paying).keys()) {
      const hasRun = await new Promise<boolean>((resolve) => {
        const sink = { content() {}, done: () => resolve(true), failed: () => resolve(false) };
        candidate.open(sink, candidate.firstTokenMsMax);
      });
      // A merchant that served without payment has done the write; do not repeat it.
      if (hasRun && candidate.offer.spec.effect === "write") throw new GatewayError("outcome_unknown");
    }
    return bound.mostNano;
  }

  async #careFor(
    final: Extract<FinalPart, { kind: "body" }>,
    reading: Reading,
    { offer, params, hidden }: OfferedCall,
  ): Promise<FinalPart> {
    const { payer, sold } = this.#call;
    const { records, keepBytes } = this.#deps;
    if (isListing(offer.spec, params)) {
      const own = await ownItems(offer, params, reading.answer, { payer, records });
      return { kind: "body", body: { json: JSON.stringify(own) } };
    }
    if (reading.miss !== true) await keepIssued(offer, reading.answer, { payer, records });
    let json = String(final.body.json);
    if (offer.spec.answer?.kind === "bytes" && json === "")
      json = JSON.stringify(await binaryAnswer(reading.answer as RawBytes, { payer, source: offer.id, keepBytes }));
    if (sold.servedAs !== null) {
      const data: unknown = JSON.parse(json);
      const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
      json = JSON.stringify({ [sold.servedAs]: offer.adapter.id, ...(isObject ? data : { data }) });
    }
    return { kind: "body", body: { json: hidden.restore(json) } };
  }
}

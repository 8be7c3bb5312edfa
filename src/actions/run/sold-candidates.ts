// The candidates of a call to a sold action: the offers that can serve these very params, each with its own names for them.
import type { ActionOffer, SoldAction } from "../../catalog/catalog.ts";
import type { TableEndpoint } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import type { Payer } from "../../core/plan.ts";
import type { Around } from "../../upstream/action-attempt.ts";
import type { ActionCandidate, ActionOrder } from "../../upstream/action-candidate.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { fieldsError } from "./read-call.ts";
import { type HiddenIds, hideIds } from "./vendor-ids.ts";

/** An offer that can serve the call. */
export interface OfferedCall {
  readonly offer: ActionOffer;
  /** As the offer's own action takes them, with the caller's own ids. */
  readonly params: Params;
  readonly hidden: HiddenIds;
}

/** What a vendor that is paid by the call may be paid. */
export type MerchantBound = NonNullable<ActionOrder["paying"]>;

export interface SoldCall {
  readonly sold: SoldAction;
  readonly params: Params;
  readonly row: TableEndpoint | null;
  readonly payer: Payer;
}

/** The params under the offer's names, or what it cannot take. */
function paramsFor(offer: ActionOffer, { sold, params }: SoldCall): Params | readonly FieldIssue[] {
  if (sold.offers.length === 1 && sold.facts === offer.spec) return params;
  const lacking = offer.lacks.filter((name) => params[name] !== undefined);
  if (lacking.length > 0) {
    return lacking.map((path) => ({ path, message: `is not possible with ${offer.adapter.id}` }));
  }
  const given = Object.entries(params).filter(([name, value]) => name !== sold.pinnedBy && value !== undefined);
  const own = Object.fromEntries(given.map(([name, value]) => [offer.names[name] ?? name, value]));
  const read = readFields(offer.spec.params, own);
  return "data" in read ? read.data : read;
}

/** The offers that can serve, in order; or why none can. */
export function offeredCalls(call: SoldCall): readonly OfferedCall[] | GatewayError {
  const { sold, params, payer } = call;
  const pinned = sold.pinnedBy === null ? undefined : params[sold.pinnedBy];
  const named = pinned === undefined ? sold.offers : sold.offers.filter(({ adapter }) => adapter.id === pinned);
  const read = named.map((offer) => ({ offer, params: paramsFor(offer, call) }));
  const able = read.filter((one): one is { offer: ActionOffer; params: Params } => !Array.isArray(one.params));
  if (able.length === 0) {
    const issues = read[0]?.params as readonly FieldIssue[] | undefined;
    return fieldsError(issues ?? [{ path: sold.pinnedBy ?? "", message: "names nobody who serves this" }]);
  }
  const reachable = able.filter(({ offer }) => offer.adapter.configured);
  if (reachable.length === 0) return new GatewayError("upstream_not_configured", { detail: { detail: sold.id } });
  return reachable.map(({ offer, params: own }) => ({ offer, params: own, hidden: hideIds(offer.spec, own, payer) }));
}

/** A candidate for each offer. */
export function candidatesOf(
  offered: readonly OfferedCall[],
  { sold, row, payer }: SoldCall,
  order: {
    readonly upstream: Upstream;
    readonly id: string;
    readonly requestId: string;
    readonly preamble: Buffer | null;
    readonly sandboxFault: string | null;
    readonly paying: MerchantBound;
    /** What is to happen around an offer's attempts; null: nothing. */
    around(offer: ActionOffer, params: Params): Around | null;
  },
): ReadonlyMap<ActionCandidate, OfferedCall> {
  const readsAll = sold.servedAs !== null;
  return new Map(
    offered.map((one) => [
      order.upstream.actionCandidate(one.offer, {
        soldId: sold.id,
        params: one.hidden.params,
        row,
        requestId: order.requestId,
        callId: order.id,
        payerId: payer.id,
        around: order.around(one.offer, one.params),
        paying: order.paying,
        restore: one.hidden.restore,
        preamble: readsAll ? null : order.preamble,
        sandbox: payer.sandbox ? { fault: order.sandboxFault } : null,
      }),
      one,
    ]),
  );
}

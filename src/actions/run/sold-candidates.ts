// The candidates of a sold action's call: the offers that can serve these params, each with its vendor's param names.
import type { ActionOffer, SoldAction } from "../../catalog/catalog.ts";
import type { TableEndpoint } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { type FieldIssue, readFields } from "../../core/field-issues.ts";
import type { Payer } from "../../core/plan.ts";
import type { ActionCandidate, ActionOrder as CandidateOrder } from "../../upstream/action-candidate.ts";
import type { ActionOrder, RunDeps } from "./deps.ts";
import { fieldsError } from "./read-call.ts";
import { type HiddenIds, hideIds } from "./vendor-ids.ts";

export interface OfferedCall {
  readonly offer: ActionOffer;
  /** In the offer's own names, with the ids that the caller chose. */
  readonly params: Params;
  readonly hidden: HiddenIds;
}

/** The most that we may pay a vendor that charges per call. */
export type MerchantBound = NonNullable<CandidateOrder["paying"]>;

export interface SoldCall {
  readonly sold: SoldAction;
  readonly params: Params;
  readonly row: TableEndpoint | null;
  readonly payer: Payer;
}

/** The params in the offer's names, or the params that it cannot take. */
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

/** The offers that can serve the call, in order; or why none can. */
export function offeredCalls(call: SoldCall): readonly OfferedCall[] | GatewayError {
  const { sold, params, payer } = call;
  const pinned = sold.pinnedBy === null ? undefined : params[sold.pinnedBy];
  const named = pinned === undefined ? sold.offers : sold.offers.filter(({ adapter }) => adapter.id === pinned);
  const read = named.map((offer) => ({ offer, params: paramsFor(offer, call) }));
  const able = read.filter((one): one is { offer: ActionOffer; params: Params } => !Array.isArray(one.params));
  if (able.length === 0) {
    const issues = read[0]?.params as readonly FieldIssue[] | undefined;
    return fieldsError(issues ?? [{ path: sold.pinnedBy ?? "", message: "names no vendor that serves this" }]);
  }
  const reachable = able.filter(({ offer }) => offer.adapter.configured);
  if (reachable.length === 0) return new GatewayError("upstream_not_configured", { detail: { detail: sold.id } });
  return reachable.map(({ offer, params: own }) => ({ offer, params: own, hidden: hideIds(offer.spec, own, payer) }));
}

export function candidatesOf(
  offered: readonly OfferedCall[],
  { sold, row, payer }: SoldCall,
  { id, requestId, preamble, sandboxFault }: ActionOrder,
  {
    upstream,
    prepaidSessions,
    paying,
  }: Pick<RunDeps, "upstream" | "prepaidSessions"> & { readonly paying: MerchantBound },
): ReadonlyMap<ActionCandidate, OfferedCall> {
  const candidates = new Map<ActionCandidate, OfferedCall>();
  for (const one of offered) {
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
    candidates.set(candidate, one);
  }
  return candidates;
}

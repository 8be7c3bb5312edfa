// Makes a Plan from an action and its params, whichever door it came through: its quote, its candidates, and what must be kept of its answer.

import type { PriceSpec } from "../../catalog/action.ts";
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { LocalAction } from "../../catalog/local-action.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { jobIdOf } from "../../core/ids.ts";
import { add, callsAffordable, least, type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import {
  type HoldSpec,
  isAccountPayer,
  type OpenPlan,
  type Payer,
  type Plan,
  type Quote,
  type Slot,
} from "../../core/plan.ts";
import type { Candidate, FinalPart, Reading } from "../../core/route.ts";
import { ladder } from "../../kernel/routes/ladder.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import { type ActionCandidate, actionMsMax } from "../../upstream/action-candidate.ts";
import { isListing } from "../../upstream/ready-action.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { actionCost, isFree, quoteCents, upstreamCentsOf } from "./action-price.ts";
import { binaryAnswer, type RawBytes } from "./binary-answer.ts";
import type { ActionOrder, RunDeps } from "./deps.ts";
import { withLinks } from "./linked-files.ts";
import { localCandidate } from "./local-candidate.ts";
import { takesMoreWith } from "./paid-times.ts";
import type { CheckedCall } from "./read-call.ts";
import { candidatesOf, type MerchantBound, type OfferedCall, offeredCalls, type SoldCall } from "./sold-candidates.ts";
import { foreignId, keepIssued, ownItems } from "./vendor-ids.ts";

const ATTEMPTS_MAX = 4;
const LOCAL_MS_MAX = 120_000;
/** A little more than events go on. */
const EVENTS_MS_MAX = 3_660_000;
/** The job that goes on with a kept hold renews it several times in this time. */
export const KEPT_LEASE_MS = 1_800_000;
/** The whole may take a little longer than its attempts: they end by themselves, and say more than a deadline. */
const WHOLE_MS_MORE = 1_000;

/** What differs between a vendor's action and one of ours. */
interface Serving extends Pick<Plan, "route" | "wholeMsMax" | "whenCallerLeaves" | "prepare"> {
  offeredBy(candidate: Candidate): OfferedCall | null;
  /** The most that it can cost us. */
  upstreamNanoMax(): Nano;
  /** Asks what it costs where the listed price is more than there is, or than the caller allows; null: the listed price is all there is. */
  readonly asked: Quote["tighten"];
}

/** Whether an answer has to be changed, or something of it kept, before the caller gets it. */
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

async function careFor(
  final: FinalPart,
  reading: Reading,
  { offered, servedAs, payer, deps }: { offered: OfferedCall; servedAs: string | null; payer: Payer; deps: RunDeps },
): Promise<FinalPart> {
  if (final.kind === "stream") return final;
  const { offer, params, hidden } = offered;
  if (isListing(offer.spec, params)) {
    const own = await ownItems(offer, params, reading.answer, { payer, records: deps.records });
    return { kind: "body", body: { json: JSON.stringify(own) } };
  }
  if (reading.miss !== true) await keepIssued(offer, reading.answer, { payer, records: deps.records });
  let json = String(final.body.json);
  if (offer.spec.answer?.kind === "bytes" && json === "") {
    const raw = reading.answer as RawBytes;
    json = JSON.stringify(await binaryAnswer(raw, { payer, source: offer.id, keepBytes: deps.keepBytes }));
  }
  if (servedAs !== null) {
    const data: unknown = JSON.parse(json);
    const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
    json = JSON.stringify({ [servedAs]: offer.adapter.id, ...(isObject ? data : { data }) });
  }
  return { kind: "body", body: { json: hidden.restore(json) } };
}

/** The calls as they go out, with links in place of ids of files. */
async function linkedCalls(
  offered: readonly OfferedCall[],
  payer: Payer,
  { linkFile }: RunDeps,
): Promise<readonly OfferedCall[] | GatewayError> {
  const linked: OfferedCall[] = [];
  for (const one of offered) {
    const params = await withLinks(one.offer, one.hidden.params, { payer, linkFile });
    if (params instanceof GatewayError) return params;
    linked.push({ ...one, hidden: { ...one.hidden, params } });
  }
  return linked;
}

/** What offers are made candidates with. */
interface Serve {
  readonly call: SoldCall;
  readonly order: ActionOrder;
  readonly paying: ReturnType<typeof payingOf>;
  readonly deps: RunDeps;
}

type Served = Serving | GatewayError;

/** Nothing waits where the action takes neither ids that it gave nor files, as nearly every one. */
function servedByVendors(serve: Serve): Served | Promise<Served> {
  const { call, deps } = serve;
  const offered = offeredCalls(call);
  if (offered instanceof GatewayError) return offered;
  const looksAt = offered.some(({ offer: { spec } }) => spec.requires !== undefined || spec.files !== undefined);
  if (!looksAt) return servedBy(offered, offered, serve);
  return lookedAt(offered, call.payer, deps).then((linked) =>
    linked instanceof GatewayError ? linked : servedBy(offered, linked, serve),
  );
}

/** The calls as they go out, or why one of them may not. */
async function lookedAt(offered: readonly OfferedCall[], payer: Payer, deps: RunDeps) {
  for (const { offer, params: own } of offered) {
    if (offer.spec.requires === undefined) continue;
    const foreign = await foreignId(offer, own, { payer, records: deps.records });
    const refused = foreign ?? (await deps.paidTimes.refusal(offer, own, payer));
    if (refused !== null) return refused;
  }
  const hasFiles = offered.some(({ offer }) => offer.spec.files !== undefined);
  return hasFiles ? linkedCalls(offered, payer, deps) : offered;
}

function servedBy(
  offered: readonly OfferedCall[],
  linked: readonly OfferedCall[],
  { call, order, paying, deps }: Serve,
): Serving {
  const { sold, row, payer } = call;
  const { id, requestId, preamble, sandboxFault } = order;
  const { upstream } = deps;
  const around = (offer: ActionOffer, own: Params) => deps.paidTimes.around(offer, own, { payer, callId: id });
  const candidates = (by: MerchantBound) =>
    candidatesOf(linked, call, { upstream, id, requestId, preamble, sandboxFault, paying: by, around });
  const byCandidate = candidates(paying);
  const offeredBy = (candidate: Candidate) => byCandidate.get(candidate as ActionCandidate) ?? null;
  const { servedAs } = sold;
  return {
    offeredBy,
    route: ladder([...byCandidate.keys()].map(retrying)),
    wholeMsMax: offered.reduce((sum, { offer }) => sum + actionMsMax(offer), WHOLE_MS_MORE),
    whenCallerLeaves: "finish",
    asked: asksFirst(sold.facts.price, paying.mostNano, order) ? () => askedNano(candidates, paying) : null,
    upstreamNanoMax: () =>
      offered.map(({ offer, params: own }) => nanoFromCents(upstreamCentsOf(offer.spec, own, row))).reduce(add, ZERO),
    prepare: offered.some((one) => needsCare(one, servedAs))
      ? async (final, served, reading) => {
          const one = offeredBy(served);
          return one === null ? final : careFor(final, reading, { offered: one, servedAs, payer, deps });
        }
      : null,
  };
}

/** Whether a merchant's price can be less than what is listed, and that makes a difference. */
function asksFirst({ paid, needsMaxCost }: PriceSpec, mostNano: Nano, { maxCostNano }: ActionOrder): boolean {
  if (paid === undefined || needsMaxCost === true) return false;
  return nanoFromCents(paid.exampleCents) < mostNano || (maxCostNano !== null && maxCostNano < mostNano);
}

/** What a merchant's 402 asks, which is paid nothing; from then on no more is paid. One that does not say may take what is listed. */
async function askedNano(
  candidates: (by: MerchantBound) => ReturnType<typeof candidatesOf>,
  paying: ReturnType<typeof payingOf>,
): Promise<Nano> {
  const priced = (nano: Nano) => {
    paying.mostNano = least(paying.mostNano, nano);
  };
  for (const candidate of candidates({ ...paying, priced }).keys()) {
    const hasRun = await new Promise<boolean>((resolve) => {
      const sink = { content() {}, done: () => resolve(true), failed: () => resolve(false) };
      candidate.open(sink, candidate.firstTokenMsMax);
    });
    // A merchant that serves unpaid has done what a write asks for: it is not sent again.
    if (hasRun && candidate.offer.spec.effect === "write") throw new GatewayError("outcome_unknown");
  }
  return paying.mostNano;
}

function servedHere(
  local: LocalAction,
  call: CheckedCall & { readonly payer: Payer },
  order: ActionOrder,
  deps: RunDeps,
): Serving {
  const { action, params, payer } = call;
  const { msMax = LOCAL_MS_MAX } = order.eventBytes === undefined ? local : { msMax: EVENTS_MS_MAX };
  return {
    offeredBy: () => null,
    route: retrying(
      localCandidate(local, params, { ...order, payer, msMax, quoteNano: quoteNanoOf(call, order) }, deps),
    ),
    wholeMsMax: msMax + WHOLE_MS_MORE,
    // What is free and changes nothing is done for a caller who waits for it.
    whenCallerLeaves: isFree(action.facts.price) && action.facts.effect === "read" ? "abort" : "finish",
    asked: null,
    upstreamNanoMax: () => nanoFromCents(local.upstreamCentsMax?.(params) ?? 0),
    prepare: null,
  };
}

/** What the money left would pay for is said in the units of the price: so many calls like this one. */
function quoteOf(nano: Nano, upstreamNano: Quote["upstreamNano"], tighten: Quote["tighten"] = null): Quote {
  return {
    nano,
    tighten,
    affordable: (free) => ({ affordable_calls: callsAffordable(free, nano) }),
    upstreamNano,
  };
}

/** What it launches goes on with its hold; what is free needs none. */
function holdOf({ action, params }: CheckedCall, order: ActionOrder, payer: Payer): HoldSpec {
  const { id, sandboxFault, callerTraceId, maxCostNano, tags = [] } = order;
  const { launches } = action;
  if (launches === undefined) return { kind: isFree(action.facts.price) ? "none" : "call" };
  const { onExpire = "void" } = launches;
  const isChained = launches.chained === true && isAccountPayer(payer);
  return {
    kind: "kept",
    owner: `job:${jobIdOf(id)}`,
    leaseMs: KEPT_LEASE_MS,
    onExpire,
    job: launches.job,
    action: action.id,
    start: launches.start === undefined ? params : launches.start(params, maxCostNano),
    tags,
    sandboxFault,
    ...(callerTraceId === undefined ? {} : { callerTraceId }),
    ...(isChained
      ? { chain: { firstId: id, keyId: payer.keyId, asked: action.id, slots: slotsOf(action), onExpire } }
      : {}),
  };
}

function slotsOf({ id, launches }: CatalogAction): readonly Slot[] {
  return launches === undefined ? [] : [{ scope: `jobs ${id}`, max: launches.inFlightMax, code: "too_many_inflight" }];
}

/** The most that the call may cost its payer, which follows from its params alone. */
function quoteNanoOf({ action, params, row }: CheckedCall, { maxCostNano }: ActionOrder): Nano {
  const { price } = action.facts;
  const mostNano = nanoFromCents(quoteCents(price, params, row));
  return price.needsMaxCost === true && maxCostNano !== null ? least(mostNano, maxCostNano) : mostNano;
}

/** The most that a vendor which is paid by the call may be paid, which falls when it is asked, and whether it is the caller who says so. */
function payingOf(call: CheckedCall, order: ActionOrder): { mostNano: Nano; readonly isCallers: boolean } {
  const isCallers = call.action.facts.price.needsMaxCost === true;
  return { mostNano: quoteNanoOf(call, order), isCallers };
}

/** Whether its params alone say what it costs, us too, if it costs anything: no count of its answer, and no work that goes on. */
function isExact({ action, params }: CheckedCall): boolean {
  const { price } = action.facts;
  const offers = action.kind === "sold" ? action.sold.offers : [];
  const takesMore = offers.some(({ spec: { prepaid } }) => takesMoreWith(prepaid, params));
  return (
    price.counted === undefined &&
    price.needsMaxCost !== true &&
    price.paid === undefined &&
    action.launches === undefined &&
    !takesMore
  );
}

/** A call that has been checked, with its price, for whichever payer it turns out to have. */
export function openActionPlan(call: CheckedCall, order: ActionOrder, deps: RunDeps): OpenPlan {
  const { action } = call;
  return {
    operation: "run",
    asked: action.id,
    streamed: order.eventBytes !== undefined,
    quote: quoteOf(quoteNanoOf(call, order), () => ZERO),
    whilePaused: isFree(action.facts.price),
    exactPrice: isExact(call),
    tags: order.tags ?? [],
    forPayer: (payer) => actionPlan(call, payer, order, deps),
  };
}

/** The plan of a call that has been checked, or why there is none. */
export function actionPlan(
  call: CheckedCall,
  payer: Payer,
  order: ActionOrder,
  deps: RunDeps,
): Plan | GatewayError | Promise<Plan | GatewayError> {
  const { action, params, row } = call;
  const serving =
    action.kind === "local"
      ? servedHere(action.local, { ...call, payer }, order, deps)
      : servedByVendors({
          call: { sold: action.sold, params, row, payer },
          order,
          paying: payingOf(call, order),
          deps,
        });
  return serving instanceof Promise
    ? serving.then((served) => servedPlan(served, call, { payer, order }))
    : servedPlan(serving, call, { payer, order });
}

function servedPlan(
  serving: Served,
  call: CheckedCall,
  { payer, order }: { readonly payer: Payer; readonly order: ActionOrder },
): Plan | GatewayError {
  if (serving instanceof GatewayError) return serving;
  const { action, params, row } = call;
  const { price, effect } = action.facts;
  const { offeredBy, upstreamNanoMax, asked, ...served } = serving;
  const cents = quoteCents(price, params, row);
  const { maxCostNano } = order;
  if (price.needsMaxCost === true && maxCostNano === null) {
    return new GatewayError("max_cost_required", { detail: { asked: action.id }, param: "max_cost_cents" });
  }
  const quoteNano = quoteNanoOf(call, order);
  const free = isFree(price);
  return {
    operation: "run",
    asked: action.id,
    streamed: order.eventBytes !== undefined,
    effect,
    quote: quoteOf(quoteNano, upstreamNanoMax, asked),
    hold: holdOf(call, order, payer),
    whilePaused: free,
    maxCostNano,
    slots: slotsOf(action),
    inference: false,
    idempotency: free ? null : order.idempotency,
    tags: order.tags ?? [],
    ...served,
    attemptsMax: ATTEMPTS_MAX,
    failedStatus: 500,
    timedOutStatus: 500,
    cost(candidate, reading) {
      const offered = offeredBy(candidate);
      const vendor = offered === null ? null : { spec: offered.offer.spec, params: offered.params, row };
      const priceVersion = `${action.id}@${cents}c`;
      return actionCost({ price, priceVersion, quoteNano, served: vendor, reading });
    },
  };
}

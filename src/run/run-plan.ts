// Makes a Plan from a call of an action: its quote, its routes, what must be kept, and the envelope around its answer.
import { GatewayError } from "../errors.ts";
import { callsAffordable, type Nano, nanoFromCents } from "../money.ts";
import { idempotencyOf } from "../pipeline/idempotency-key.ts";
import type { Call, Caller, FinalPart, Payer, Plan, Reading, Route } from "../plan.ts";
import type { Records } from "../records/records.ts";
import { type ActionRoute, actionMsMax } from "../upstream/action-route.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { envelopeFrame, PREAMBLE } from "../wires/envelope/frame.ts";
import { actionCost, isFree, quoteCents } from "./action-price.ts";
import { binaryAnswer, type KeepBytes, type RawBytes } from "./binary-answer.ts";
import { localRoute } from "./local-route.ts";
import { type ActionCall, readCall } from "./read-call.ts";
import type { Shop } from "./shop.ts";
import { type Candidate, candidatesOf, routesOf, type SoldCall } from "./sold-routes.ts";
import { foreignId, keepIssued } from "./vendor-ids.ts";

export interface RunDeps {
  readonly shop: Shop;
  readonly upstream: Upstream;
  readonly records: Records;
  /** Null: large binary answers go into the envelope. */
  readonly keepBytes: KeepBytes | null;
  readonly onBroken: (error: unknown, requestId: string) => void;
}

type RunCall = Call & { readonly caller: Caller };

const ATTEMPTS_MAX = 4;
const LOCAL_MS_MAX = 120_000;
/** The whole may take a little longer than its attempts: they end by themselves, and say more than a deadline. */
const WHOLE_MS_MORE = 1_000;

/** What differs between a vendor's action and one of ours. */
type Serving = Pick<Plan, "routes" | "wholeMsMax" | "whenClientLeaves" | "prepare"> & {
  readonly candidateOf: (served: Route) => Candidate | null;
};

/** Whether an answer has to be changed, or something of it kept, before the caller gets it. */
function needsCare({ offer, params, hidden }: Candidate, servedAs: string | null): boolean {
  const { issues = [], answer } = offer.spec;
  return issues.length > 0 || answer?.kind === "bytes" || hidden.params !== params || servedAs !== null;
}

async function careFor(
  final: FinalPart,
  reading: Reading,
  { candidate, servedAs, payer, deps }: { candidate: Candidate; servedAs: string | null; payer: Payer; deps: RunDeps },
): Promise<FinalPart> {
  if (final.kind === "stream") return final;
  const { offer, hidden } = candidate;
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

async function servedByVendors(call: SoldCall, { request }: RunCall, deps: RunDeps): Promise<Serving | GatewayError> {
  const { sold, payer } = call;
  const candidates = candidatesOf(call);
  if (candidates instanceof GatewayError) return candidates;
  for (const { offer, params } of candidates) {
    if (offer.spec.requires === undefined) continue;
    const foreign = await foreignId(offer, params, { payer, records: deps.records });
    if (foreign !== null) return foreign;
  }
  const byRoute = routesOf(candidates, call, {
    upstream: deps.upstream,
    requestId: request.id,
    preamble: PREAMBLE,
    sandboxFault: request.headers.get("x-tollgate-sandbox-fault") ?? null,
  });
  const candidateOf = (served: Route): Candidate | null => byRoute.get(served as ActionRoute) ?? null;
  const { servedAs } = sold;
  return {
    routes: [...byRoute.keys()],
    candidateOf,
    wholeMsMax: candidates.reduce((sum, { offer }) => sum + actionMsMax(offer), WHOLE_MS_MORE),
    whenClientLeaves: candidates.every(({ offer }) => offer.spec.abortable === true) ? "abort" : "finish",
    prepare: candidates.some((candidate) => needsCare(candidate, servedAs))
      ? async (final, served, reading) => {
          const candidate = candidateOf(served);
          return candidate === null ? final : careFor(final, reading, { candidate, servedAs, payer, deps });
        }
      : null,
  };
}

function servedHere({ action, params }: ActionCall, { request, caller }: RunCall, deps: RunDeps): Serving {
  const { local } = action;
  if (local === null) throw new Error(`nobody serves ${action.id}`);
  const onBroken = (error: unknown) => deps.onBroken(error, request.id);
  return {
    routes: [localRoute(local, params, { request, caller }, { msMax: LOCAL_MS_MAX, onBroken })],
    candidateOf: () => null,
    wholeMsMax: LOCAL_MS_MAX + WHOLE_MS_MORE,
    whenClientLeaves: "finish",
    prepare: null,
  };
}

/** What the money left would pay for is said in the units of the price: so many calls like this one. */
function quoteOf(nano: Nano): Plan["quote"] {
  return {
    nano,
    tighten: null,
    affordable: (free) => ({ affordable_calls: callsAffordable(free, nano) }),
  };
}

/** Checks a call of an action and makes its plan, or says what is wrong with it. */
export async function runPlan(call: RunCall, deps: RunDeps): Promise<Plan | GatewayError> {
  const read = readCall(call, deps.shop);
  if (read instanceof GatewayError) return read;
  const { action, params, row, maxCostNano, body } = read;
  const { price, effect } = action.facts;
  const idempotency = idempotencyOf(call.request, body);
  if (idempotency instanceof GatewayError) return idempotency;
  const { payer } = call.caller;
  const serving =
    action.sold === null
      ? servedHere(read, call, deps)
      : await servedByVendors({ sold: action.sold, params, row, payer }, call, deps);
  if (serving instanceof GatewayError) return serving;
  const { candidateOf, ...served } = serving;
  const cents = quoteCents(price, params, row);
  const quoteNano = nanoFromCents(cents);
  const free = isFree(price);
  return {
    operation: "run",
    asked: action.id,
    streamed: false,
    effect,
    quote: quoteOf(quoteNano),
    free,
    maxCostNano,
    slots: [],
    inference: false,
    idempotency: free ? null : idempotency,
    ...served,
    attemptsMax: ATTEMPTS_MAX,
    keepAliveMs: null,
    failedStatus: 500,
    timedOutStatus: 500,
    cost(route, reading) {
      const candidate = candidateOf(route);
      const vendor = candidate === null ? null : { spec: candidate.offer.spec, params: candidate.params, row };
      const priceVersion = `${action.id}@${cents}c`;
      return actionCost({ price, priceVersion, quoteNano, served: vendor, reading });
    },
    frame: envelopeFrame,
  };
}

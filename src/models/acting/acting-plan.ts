// Plans a call with a tool loop: one hold and one posting for all rounds of the model and all actions between them.
import type { FramedOpenPlan, GatewayRequest, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { idAfter, transactionIdOf } from "../../core/ids.ts";
import { add, least, type Nano, nano, nanoFromCents, ZERO } from "../../core/money.ts";
import type { NeutralTurn } from "../../core/neutral.ts";
import type { OpenPlan, Payer, Plan, Quote } from "../../core/plan.ts";
import type { Candidate } from "../../core/route.ts";
import type { ActionsAsk } from "../formats/action-tools.ts";
import { CALLS_MAX } from "../formats/action-tools.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import { type ActingCandidate, type ActingCost, type ActingParts, actingRoute } from "./acting-attempt.ts";
import { type ActingCall, ROUNDS_MAX } from "./acting-run.ts";
import type { ActingDeps } from "./deps.ts";
import { withKept } from "./kept-turns.ts";
import { type OfferedTool, offeredTools } from "./offered-tools.ts";
import { RESULT_CHARS_MAX } from "./result-text.ts";
import { type RoundParts, roundRequest } from "./round-request.ts";
import { Transcript } from "./transcript.ts";

const NO_BODY = Buffer.alloc(0);
/** Headers that apply to the whole call, hidden from its rounds. */
const OF_THE_WHOLE: ReadonlySet<string> = new Set(["idempotency-key", "x-tollgate-max-cost-cents", "x-tollgate-trace"]);

/** The request without its body, to free the memory while the call runs. */
function withoutBody(request: GatewayRequest): GatewayRequest {
  const { id, method, path, query, params, headers, address, startedMs } = request;
  return { id, method, path, query, params, headers, address, startedMs, body: NO_BODY };
}

function asRound({ request, audience }: PlanCall): PlanCall {
  const headers = new Map([...request.headers].filter(([name]) => !OF_THE_WHOLE.has(name)));
  return { request: { ...request, headers }, audience };
}

/** The most that all the actions offered to the model can cost together. */
function actionsNano(tools: ReadonlyMap<string, OfferedTool>, callsMax: number): Nano {
  const each = [...tools.values()].map(({ actions, bounds }) => {
    const dearest = actions.reduce((most, { nanoMax }) => Math.max(most, nanoMax), 0);
    // The model picks these actions later, so only the bound of the whole call limits them.
    const all = actions.length === 0 ? Number.MAX_SAFE_INTEGER : dearest * (bounds.callsMax ?? callsMax);
    return bounds.costCentsMax === null ? all : Math.min(all, nanoFromCents(bounds.costCentsMax));
  });
  return nano(
    Math.min(
      Number.MAX_SAFE_INTEGER,
      each.reduce((sum, one) => sum + one, 0),
    ),
  );
}

/** The most that the call can cost, at most `limit`: all rounds priced like the longest, plus all actions. */
function boundOf(longest: Plan | GatewayError, rounds: number, actions: Nano, limit: Nano): Nano {
  if (longest instanceof GatewayError) return limit;
  const all = longest.quote.nano * rounds + actions;
  return all >= limit ? limit : nano(all);
}

type RouteFor = (limit: Nano) => Plan["route"];

interface Bounds {
  /** All rounds and all actions. */
  readonly all: Nano;
  readonly tokensMax: () => number;
  /** The most that actions may cost on top of the model's share of the free money; null where the call has its own limit. */
  readonly sharedActions: Nano | null;
}

/** The quote of the whole call. Only the first round must fit; the model is told when a later one does not. */
function quoteOf(first: Quote, { all, tokensMax, sharedActions }: Bounds, routeFor: RouteFor): Quote {
  const fits = (free: Nano) => first.nano <= free || (first.within?.(free) ?? null) !== null;
  const { share } = first;
  const quote: Quote = {
    nano: fits(all) ? all : first.nano,
    tighten: async () => {
      const counted = first.tighten === null ? first.nano : await first.tighten();
      return counted <= all || fits(all) ? all : counted;
    },
    within(free) {
      const limit = least(free, all);
      return limit > ZERO && fits(limit) ? { nano: limit, route: routeFor(limit) } : null;
    },
    affordable: (free) => first.affordable(free),
    tokensMax,
    upstreamNano: () => add(first.upstreamNano(), all),
  };
  if (share === undefined || sharedActions === null) return quote;
  return {
    ...quote,
    async share(free) {
      const part = await share(free);
      if (part === null) return null;
      const nano = least(least(add(part.nano, sharedActions), all), free);
      return { nano, route: routeFor(nano) };
    },
  };
}

interface Made {
  readonly acting: Omit<ActingCall, "payer">;
  /** The caller's limit, or our default; null where only the model's cost is bounded. */
  readonly limit: Nano | null;
  readonly callsMax: number;
  readonly quoteFor: (routeFor: RouteFor) => Quote;
  readonly all: Nano;
}

function made(
  call: PlanCall,
  read: ModelRequest,
  {
    ask,
    tools,
    turns,
    createdS,
    bodyBytes,
  }: {
    readonly ask: ActionsAsk;
    readonly tools: ReadonlyMap<string, OfferedTool>;
    readonly turns: readonly NeutralTurn[];
    readonly createdS: number;
    readonly bodyBytes: number;
  },
  deps: ActingDeps,
): Made {
  const { oneText } = ask;
  const isAction = (name: string) => tools.has(name);
  const transcript = new Transcript({ answers: read.answers, isAction, oneText, createdS });
  const callsMax = ask.callsMax ?? CALLS_MAX;
  const rounds = Math.min(ROUNDS_MAX, callsMax);
  const told = [...tools.values()].map((tool) => tool.told);
  const { toolChoice } = read.asked.neutral();
  const own = { base: read, bodyBytes, tools: told, turns, since: [], outputTokens: null, stay: null };
  const parts: RoundParts = { ...own, toolChoice, moreBytes: 0 };
  const first = deps.planRound(call, roundRequest(parts, transcript));
  if (first instanceof GatewayError) throw first;
  // A call that would succeed without the format's built-in tools must not be refused for them, so actions get a bound beside the model's.
  const isHostedOnly = ask.tools.length === 0;
  const limit = first.plan.maxCostNano ?? (isHostedOnly ? null : deps.costNanoMax);
  const round = asRound(call);
  const longest = deps.planRound(round, roundRequest({ ...parts, moreBytes: rounds * RESULT_CHARS_MAX }, transcript));
  const plan = longest instanceof GatewayError ? longest : longest.plan;
  const most = limit ?? add(first.plan.quote.nano, deps.costNanoMax);
  const all = boundOf(plan, rounds + 1, actionsNano(tools, callsMax), most);
  const tokensMax = () => {
    const { quote } = longest instanceof GatewayError ? first.plan : longest.plan;
    return (quote.tokensMax?.() ?? 0) * (rounds + 1);
  };
  const sharedActions = limit === null ? deps.costNanoMax : null;
  return {
    acting: { call: round, base: read, bodyBytes, tools, turns, transcript, first },
    limit,
    callsMax,
    all,
    quoteFor: (routeFor) => quoteOf(first.plan.quote, { all, tokensMax, sharedActions }, routeFor),
  };
}

function ownedPlan(parts: ActingParts, { acting, limit, quoteFor, all }: Made): Plan {
  let opened: ActingCost | null = null;
  const routeFor = (limitNano: Nano) =>
    actingRoute(parts, limitNano, (attempt) => {
      opened = attempt;
    });
  const { plan } = acting.first;
  const { operation, asked, streamed, tags = [], idempotency, wholeMsMax, failedStatus, timedOutStatus } = plan;
  const writes = [...acting.tools.values()].some(({ actions }) => actions.some(({ effect }) => effect === "write"));
  return {
    operation,
    asked,
    streamed,
    effect: writes ? "write" : "read",
    quote: quoteFor(routeFor),
    hold: { kind: "call" },
    whilePaused: false,
    maxCostNano: limit,
    slots: [],
    inference: true,
    idempotency,
    tags,
    route: routeFor(all),
    wholeMsMax,
    attemptsMax: 1,
    failedStatus,
    timedOutStatus,
    whenCallerLeaves: plan.whenCallerLeaves,
    async cost() {
      if (opened === null) throw new Error("what was not opened costs nothing");
      return opened.cost();
    },
    prepare: null,
  };
}

export async function actingPlan(
  sent: PlanCall,
  read: ModelRequest,
  ask: ActionsAsk,
  deps: ActingDeps,
): Promise<FramedOpenPlan> {
  const { audience } = sent;
  const bodyBytes = sent.request.body.length;
  const call = { request: withoutBody(sent.request), audience };
  const { request } = call;
  const neutral = read.asked.neutral();
  const callersNames = new Set(neutral.tools.flatMap((tool) => (tool.kind === "function" ? [tool.name] : [])));
  const tools = offeredTools(ask, callersNames, { catalog: deps.actions, audience });
  const { payer: known } = audience;
  const turns = known === null ? neutral.turns : await withKept(neutral.turns, known, deps.turns);
  const createdS = Math.floor(deps.clock.epochMs() / 1000);
  const done = made(call, read, { ask, tools, turns, createdS, bodyBytes }, deps);
  const { acting, callsMax, quoteFor } = done;
  const { first } = acting;
  const { onlyAgain } = first.plan;
  if (onlyAgain !== undefined) throw onlyAgain;
  const trace = request.headers.get("x-tollgate-trace") === "1";
  const id = idAfter(request.id, read.idPrefix);
  const frame = read.frame({ id, createdS, trace });
  const own = {
    id: transactionIdOf(request.id),
    requestId: request.id,
    sandboxFault: request.headers.get("x-tollgate-sandbox-fault") ?? null,
    callsMax,
    keepAlive: read.stream ? (frame.keepAlive?.text ?? null) : null,
    deps,
  };
  const forPayer = (payer: Payer): Plan => ownedPlan({ ...own, acting: { ...acting, payer } }, done);
  const { operation, asked, streamed, whilePaused, tags = [] } = first.plan;
  const noRoute = () => first.plan.route;
  const plan: OpenPlan = { operation, asked, streamed, whilePaused, tags, quote: quoteFor(noRoute), forPayer };
  const { headers = {}, keepAliveMs } = first;
  const loweredTo = (served: Candidate) => {
    const { round } = served as ActingCandidate;
    return round === null ? null : (first.loweredTo?.(round) ?? null);
  };
  return { plan, asked: read.asked, keepAliveMs, headers, loweredTo, frame };
}

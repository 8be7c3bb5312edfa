// The HTTP edge of the kernel: admits a request, has it answered or refused, and ends its record.
import { goneError, isGone, retirementHeaders, retirementOf } from "../../catalog/retirement.ts";
import type { Answer, Endpoint, FramedOpenPlan, GatewayRequest, Reply, StreamAnswer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Audience, Caller } from "../../core/plan.ts";
import { inSlices, jsonOf, ownSlice } from "../../core/slices.ts";
import { addressWindowKey } from "../../platform/limits/address-window-key.ts";
import { admit } from "./admit.ts";
import { type CacheOrder, cacheOrder } from "./answer-cache.ts";
import { type Answering, addHeaders } from "./answering.ts";
import { askedOf } from "./asked-of.ts";
import { balanceLeft } from "./balance-left.ts";
import type { ServeDeps } from "./deps.ts";
import { guarded, withGuardedAnswer } from "./guarded.ts";
import { pay } from "./pay.ts";
import { sendError, tellChallenge, tellRequestId } from "./render-error.ts";
import { isLong, screenLate, withoutCredit } from "./screen.ts";
import { sendAnswer } from "./send-answer.ts";
import { whileGood } from "./still-good.ts";
import { tapped } from "./tapped.ts";
import { throughCache } from "./through-cache.ts";
import { ToldWindow } from "./told-window.ts";
import { continueTrace } from "./trace.ts";

/** A caller without a key who pays with play money. */
const PLAYING: Audience = { sandbox: true, payer: null, allows: { services: null, models: null }, strictBounds: false };

/** A caller without a key: who pays is known when the plan has its price. */
const STRANGER: Audience = {
  sandbox: false,
  payer: null,
  allows: { services: null, models: null },
  strictBounds: false,
};

/** Serves one request to its last byte. Never rejects. */
export async function serve(request: GatewayRequest, endpoint: Endpoint, reply: Reply, deps: ServeDeps): Promise<void> {
  const record = deps.observer.begin({ requestId: request.id, method: request.method, startedMs: request.startedMs });
  record.endpoint = endpoint.path;
  record.watched = endpoint.watch === true;
  continueTrace(request, reply, record);
  tellRequestId(reply, request.id, endpoint.errors);
  record.bytesIn = request.body.length;
  const answering = { reply, window: new ToldWindow(reply), record };
  try {
    const answered = answer(request, endpoint, answering, deps);
    const refused = answered instanceof Promise ? await answered : answered;
    if (refused !== null) await refuse(refused, request, { endpoint, answering }, deps);
  } catch (error) {
    // A store that is away rejects with what the caller is to be told; everything else is our own fault.
    const told = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
    deps.onBroken(error, request.id);
    await refuse(told, request, { endpoint, answering }, deps);
  } finally {
    if (request.incoming !== undefined) record.bytesIn = request.incoming.bytes;
    deps.observer.end(record);
  }
}

/** What is told in the answer's place; null: it was answered. */
type Told = GatewayError | null;

/** No frame of its own: each is some 400 bytes of a call, and nearly none of what comes before a call waits for anything. */
function answer(
  request: GatewayRequest,
  endpoint: Endpoint,
  answering: Answering,
  deps: ServeDeps,
): Told | Promise<Told> {
  const retires = announce(request, endpoint, answering.reply, deps);
  const admitted = admit(request, endpoint, answering, deps);
  const go = (caller: Caller | null | GatewayError): Told | Promise<Told> => {
    if (caller instanceof GatewayError) return caller;
    if (retires !== undefined && isGone(retires, deps.clock.epochMs())) return goneError(retires);
    return answerTo(caller, request, { endpoint, answering }, deps);
  };
  return admitted instanceof Promise ? admitted.then(go) : go(admitted);
}

function answerTo(
  caller: Caller | null,
  request: GatewayRequest,
  { endpoint, answering }: { readonly endpoint: Endpoint; readonly answering: Answering },
  deps: ServeDeps,
): Told | Promise<Told> {
  const go = (): Told | Promise<Told> => {
    const noRoom = answerFor(caller, request, endpoint, answering, deps);
    if (noRoom !== null) return noRoom;
    if (!("plan" in endpoint)) return answerAtOnce({ request, caller }, endpoint, answering, deps);
    const order = cacheOrderOf(caller, request, endpoint, deps);
    if (order instanceof GatewayError) return order;
    return answerCall({ caller, request, endpoint, order }, answering, deps);
  };
  if (caller === null) return go();
  if (caller.sandbox) answering.reply.header("x-tollgate-sandbox", "1");
  if (!isLong(request)) return go();
  return screenLate(endpoint, caller.payer.accountId, deps).then((unpaid) => unpaid ?? go());
}

type PlannedEndpoint = Extract<Endpoint, { readonly plan: unknown }>;

function cacheOrderOf(caller: Caller | null, request: GatewayRequest, { cached }: PlannedEndpoint, deps: ServeDeps) {
  if (caller === null || deps.cache === undefined || cached !== true) return null;
  return cacheOrder(request, caller, deps.guard !== undefined);
}

/** A call that costs: by way of the cache, the request log and the spans, where they are on. */
function answerCall(
  {
    caller,
    request,
    endpoint,
    order,
  }: {
    readonly caller: Caller | null;
    readonly request: GatewayRequest;
    readonly endpoint: PlannedEndpoint;
    readonly order: CacheOrder | null;
  },
  answering: Answering,
  deps: ServeDeps,
): Promise<Told> {
  const { cache, spanContents: contents } = deps;
  const log = caller?.logsCalls === true ? deps.requestLog : undefined;
  const isTapped = log !== undefined || contents !== undefined;
  if (!isTapped && (order === null || cache === undefined))
    return answerByPlan(request, endpoint, { caller, answering }, deps);
  const plain = (to: Answering) => answerByPlan(request, endpoint, { caller, answering: to }, deps);
  const make = isTapped ? (to: Answering) => tapped(request, caller, to, { log, contents, make: plain }) : plain;
  return order === null || cache === undefined
    ? make(answering)
    : throughCache(
        order,
        answering,
        { ...deps, cache },
        { make, plan: () => endpoint.plan({ request, audience: caller ?? STRANGER }) },
      );
}

async function answerAtOnce(
  call: { readonly request: GatewayRequest; readonly caller: Caller | null },
  endpoint: Exclude<Endpoint, PlannedEndpoint>,
  answering: Answering,
  deps: ServeDeps,
): Promise<Told> {
  // However many the operator asks at once, calls go between them.
  if (endpoint.auth === "admin") await ownSlice();
  const gone = new AbortController();
  if ("stream" in endpoint) answering.reply.onGone(() => gone.abort());
  const answered = await ("stream" in endpoint
    ? endpoint.stream({ ...call, gone: gone.signal })
    : endpoint.answer(call));
  if (answered instanceof GatewayError) return answered;
  if (endpoint.auth === "admin") return sendAnswer(await inSmallSteps(answered), answering);
  const { request, caller } = call;
  const lasts = "bytes" in answered && answered.bytesTotal === undefined;
  if (!lasts || caller === null || endpoint.auth !== "key") return sendAnswer(answered, answering);
  const stop = whileGood({ request, endpoint, caller }, deps, () => gone.abort());
  return sendAnswer(answered, answering).finally(stop);
}

/** The operator's lists are as long as he asks for, and no call is to wait until one is text. */
async function inSmallSteps(answered: Answer | StreamAnswer): Promise<Answer | StreamAnswer> {
  if ("bytes" in answered || typeof answered.body === "string" || answered.body instanceof Uint8Array) return answered;
  return { ...answered, body: await inSlices(jsonOf(answered.body, 2)) };
}

function answerByPlan(
  request: GatewayRequest,
  endpoint: PlannedEndpoint,
  { caller, answering }: { readonly caller: Caller | null; readonly answering: Answering },
  deps: ServeDeps,
): Promise<Told> {
  const { reply, record } = answering;
  const plays = caller === null && deps.stranger?.takes(request.headers) === "play_money";
  if (plays) {
    record.sandbox = true;
    reply.header("x-tollgate-sandbox", "1");
  }
  const audience = caller ?? (plays ? PLAYING : STRANGER);
  const looksAt = endpoint.upload === true || deps.guard !== undefined || deps.answerGuard !== undefined;
  const planned = looksAt
    ? lookedAt({ request, endpoint, caller, audience }, deps)
    : endpoint.plan({ request, audience });
  return pay(planned, { request, endpoint, caller }, answering, deps);
}

/** The plan of a call that may not be let in unseen: an upload, or any where the operator has a guard. */
async function lookedAt(
  {
    request,
    endpoint,
    caller,
    audience,
  }: {
    readonly request: GatewayRequest;
    readonly endpoint: PlannedEndpoint;
    readonly caller: Caller | null;
    readonly audience: Audience;
  },
  deps: ServeDeps,
): Promise<FramedOpenPlan | GatewayError> {
  const unfit = endpoint.upload === true ? await unfitToUpload(caller, deps) : null;
  if (unfit !== null) return unfit;
  const plan = () => endpoint.plan({ request, audience });
  let framed = await plan();
  if (framed instanceof GatewayError) return framed;
  // An upload is handed on as it comes: there is nothing to look at yet.
  if (deps.guard !== undefined && endpoint.upload !== true)
    framed = await guarded({ request, caller, sandbox: audience.sandbox, framed }, deps.guard, plan, deps);
  if (framed instanceof GatewayError || deps.answerGuard === undefined) return framed;
  return withGuardedAnswer({ request, caller, sandbox: audience.sandbox, framed }, deps.answerGuard);
}

/** From here on the answer's memory is counted as the caller's. Not null: too many of its answers wait for their clients already. */
function answerFor(
  caller: Caller | null,
  request: GatewayRequest,
  { auth, watch }: Endpoint,
  { reply }: Answering,
  { answers }: ServeDeps,
): GatewayError | null {
  // The address is asked of the system when it is read, which calls with a key do without.
  const owner = caller === null ? addressWindowKey(request.address) : caller.payer.id;
  reply.belongTo(owner);
  return auth === "admin" || watch === true ? null : answers.refusal(owner);
}

/** Megabytes are taken only of callers who could go on to pay for them. */
async function unfitToUpload(caller: Caller | null, deps: ServeDeps): Promise<GatewayError | null> {
  if (caller === null) return new GatewayError("invalid_token", { detail: { detail: "This call needs a key." } });
  if (caller.frozen) return new GatewayError("account_frozen");
  if (caller.paused) return new GatewayError("key_paused");
  return withoutCredit(caller.payer.accountId, deps);
}

/** Says on every answer, whatever it will be, that what was asked for retires. */
function announce(request: GatewayRequest, endpoint: Endpoint, reply: Reply, deps: ServeDeps) {
  const retires = retirementOf(endpoint, request);
  if (retires !== undefined) addHeaders(reply, retirementHeaders(retires, deps.clock.epochMs()));
  return retires;
}

async function refuse(
  error: GatewayError,
  request: GatewayRequest,
  { endpoint, answering }: { readonly endpoint: Endpoint; readonly answering: Answering },
  deps: ServeDeps,
): Promise<void> {
  const { reply, window, record } = answering;
  record.status = error.status;
  record.code = error.code;
  record.told = error.message;
  if (record.keyId !== null && "plan" in endpoint) record.asked ??= askedOf(request);
  record.outcome ??= "refused";
  if (reply.closed) return;
  if (error.options.window !== undefined) window.learn({ allowed: false, remaining: 0, ...error.options.window });
  window.tell();
  const balance = await balanceLeft(error, record.accountId, endpoint.errors, deps);
  if (reply.closed) return;
  tellChallenge(reply, error, endpoint.path, deps);
  record.bytesOut = sendError(reply, error, { requestId: record.requestId, errors: endpoint.errors, balance });
}

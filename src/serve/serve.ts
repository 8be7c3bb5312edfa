// The HTTP edge of the kernel: admits a request, has it answered or refused, and ends its record.
import { goneError, isGone, retirementHeaders, retirementOf } from "../catalog/retirement.ts";
import type { Endpoint, GatewayRequest, Reply } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { addressWindowKey } from "../limits/address-window-key.ts";
import type { Audience, Caller } from "../plan.ts";
import { admit } from "./admit.ts";
import { cacheOrder } from "./answer-cache.ts";
import { type Answering, addHeaders } from "./answering.ts";
import { askedOf } from "./asked-of.ts";
import { balanceLeft } from "./balance-left.ts";
import type { ServeDeps } from "./deps.ts";
import { guarded, withGuardedAnswer } from "./guarded.ts";
import { pay } from "./pay.ts";
import { sendError, tellChallenge, tellRequestId } from "./render-error.ts";
import { isLong, screenLate, withoutCredit } from "./screen.ts";
import { sendAnswer } from "./send-answer.ts";
import { tapped } from "./tapped.ts";
import { throughCache } from "./through-cache.ts";
import { ToldWindow } from "./told-window.ts";
import { continueTrace } from "./trace.ts";

const NO_BODY = Buffer.alloc(0);

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
    const refused = await answer(request, endpoint, answering, deps);
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

async function answer(
  request: GatewayRequest,
  endpoint: Endpoint,
  answering: Answering,
  deps: ServeDeps,
): Promise<GatewayError | null> {
  const { reply } = answering;
  const retires = announce(request, endpoint, reply, deps);
  const admitted = admit(request, endpoint, answering, deps);
  const caller = admitted instanceof Promise ? await admitted : admitted;
  if (caller instanceof GatewayError) return caller;
  if (retires !== undefined && isGone(retires, deps.clock.epochMs())) return goneError(retires);
  if (caller !== null) {
    if (caller.sandbox) reply.header("x-tollgate-sandbox", "1");
    if (isLong(request)) {
      const unpaid = await screenLate(endpoint, caller.payer.accountId, deps);
      if (unpaid !== null) return unpaid;
    }
  }
  const noRoom = answerFor(caller, request, endpoint, answering, deps);
  if (noRoom !== null) return noRoom;
  if ("plan" in endpoint) {
    const { cache } = deps;
    const order =
      caller === null || cache === undefined || endpoint.cached !== true
        ? null
        : cacheOrder(request, caller, deps.guard !== undefined);
    if (order instanceof GatewayError) return order;
    const plain = (to: Answering) => answerByPlan(request, endpoint, { caller, answering: to }, deps);
    const log = caller?.logsCalls === true ? deps.requestLog : undefined;
    const { spanContents: contents } = deps;
    const make =
      log === undefined && contents === undefined
        ? plain
        : (to: Answering) => tapped(request, caller, to, { log, contents, make: plain });
    return order === null || cache === undefined
      ? make(answering)
      : throughCache(order, answering, { ...deps, cache }, make);
  }
  const call = { request, caller };
  const answered = await ("stream" in endpoint
    ? endpoint.stream({ ...call, gone: goneSignal(reply) })
    : endpoint.answer(call));
  if (answered instanceof GatewayError) return answered;
  return sendAnswer(answered, answering);
}

async function answerByPlan(
  request: GatewayRequest,
  endpoint: Extract<Endpoint, { readonly plan: unknown }>,
  { caller, answering }: { readonly caller: Caller | null; readonly answering: Answering },
  deps: ServeDeps,
): Promise<GatewayError | null> {
  const { reply, record } = answering;
  const unfit = endpoint.upload === true ? await unfitToUpload(caller, deps) : null;
  if (unfit !== null) return unfit;
  const plays = caller === null && deps.stranger?.takes(request.headers) === "play_money";
  if (plays) {
    record.sandbox = true;
    reply.header("x-tollgate-sandbox", "1");
  }
  const audience = caller ?? (plays ? PLAYING : STRANGER);
  const plan = () => endpoint.plan({ request, audience });
  const planned = plan();
  let framed = planned instanceof Promise ? await planned : planned;
  if (framed instanceof GatewayError) return framed;
  // An upload is handed on as it comes: there is nothing to look at yet.
  if (deps.guard !== undefined && endpoint.upload !== true)
    framed = await guarded({ request, caller, sandbox: audience.sandbox, framed }, deps.guard, plan, deps);
  if (framed instanceof GatewayError) return framed;
  if (deps.answerGuard !== undefined)
    framed = withGuardedAnswer({ request, caller, sandbox: audience.sandbox, framed }, deps.answerGuard);
  if (framed.asked !== undefined) answering.heard?.ask(framed.asked);
  request.body = NO_BODY;
  try {
    return await pay(framed, request, caller, answering, deps);
  } finally {
    framed.ended?.();
  }
}

function goneSignal(reply: Reply): AbortSignal {
  const gone = new AbortController();
  reply.onGone(() => gone.abort());
  return gone.signal;
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
  const balance = await balanceLeft(error, record.accountId, endpoint, deps);
  if (reply.closed) return;
  tellChallenge(reply, error, endpoint.path, deps);
  record.bytesOut = sendError(reply, error, { requestId: record.requestId, errors: endpoint.errors, balance });
}

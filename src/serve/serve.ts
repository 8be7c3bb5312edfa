// The HTTP caller of the kernel: admits a request, makes its plan, has it executed, and writes the last byte of the answer.

import { goneError, isGone, retirementHeaders, retirementOf } from "../catalog/retirement.ts";
import type { Endpoint, FramedPlan, GatewayRequest, Reply } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { execute } from "../kernel/execute.ts";
import { LedgerFunds } from "../kernel/ledger-funds.ts";
import type { RequestRecord } from "../observe/record.ts";
import type { Audience, Caller, Ended, Funds, Payer, Plan } from "../plan.ts";
import type { Candidate } from "../route.ts";
import { admit } from "./admit.ts";
import type { ServeDeps } from "./deps.ts";
import { sendError } from "./render-error.ts";
import { ReplyReader } from "./reply-reader.ts";
import { sendStream } from "./send-stream.ts";
import { ToldWindow } from "./told-window.ts";

/** Where a request is answered, and what is noted of it. */
interface Answering {
  readonly reply: Reply;
  readonly window: ToldWindow;
  readonly record: RequestRecord;
}

/** Whoever calls without a key: who pays is known when the plan has its price. */
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
  record.bytesIn = request.body.length;
  const answering = { reply, window: new ToldWindow(reply), record };
  try {
    const refused = await answer(request, endpoint, answering, deps);
    if (refused !== null) refuse(refused, endpoint, answering);
  } catch (error) {
    // A store that is away rejects with what the caller is to be told; everything else is our own fault.
    const told = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
    deps.onBroken(error, request.id);
    refuse(told, endpoint, answering);
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
  const { reply, window, record } = answering;
  const retires = announce(request, endpoint, reply, deps);
  const caller = await admit(request, endpoint, window, deps);
  if (caller instanceof GatewayError) return caller;
  if (retires !== undefined && isGone(retires, deps.clock.epochMs())) return goneError(retires);
  if (caller !== null) {
    record.accountId = caller.payer.accountId;
    record.keyId = caller.payer.keyId;
    record.sandbox = caller.sandbox;
    if (caller.sandbox) reply.header("x-tollgate-sandbox", "1");
  }
  if ("plan" in endpoint) {
    const framed = await endpoint.plan({ request, audience: caller ?? STRANGER });
    if (framed instanceof GatewayError) return framed;
    return pay(framed, request, caller, answering, deps);
  }
  const answered = await ("stream" in endpoint ? endpoint.stream : endpoint.answer)({ request, caller });
  if (answered instanceof GatewayError) return answered;
  window.tell();
  if ("bytes" in answered) return sendStream(answered, reply, record);
  addHeaders(reply, answered.headers);
  if (answered.headers?.["content-type"] === undefined && answered.status !== 304)
    reply.header("content-type", "application/json");
  const { body } = answered;
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  record.status = answered.status;
  record.bytesOut = Buffer.byteLength(bytes);
  reply.send(answered.status, bytes);
  return null;
}

function addHeaders(reply: Reply, headers: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(headers)) reply.header(name, value);
}

/** Says on every answer, whatever it will be, that what was asked for retires. */
function announce(request: GatewayRequest, endpoint: Endpoint, reply: Reply, deps: ServeDeps) {
  const retires = retirementOf(endpoint, request);
  if (retires !== undefined) addHeaders(reply, retirementHeaders(retires, deps.clock.epochMs()));
  return retires;
}

/** Has the plan executed with what the caller pays with, and writes what came of it. */
async function pay(
  framed: FramedPlan,
  request: GatewayRequest,
  caller: Caller | null,
  answering: Answering,
  deps: ServeDeps,
): Promise<GatewayError | null> {
  const { plan } = framed;
  const { reply, window, record } = answering;
  addHeaders(reply, framed.headers);
  const paying =
    caller === null ? await strangerPays(plan, request, deps) : keyPays(plan, request, caller, window, deps);
  if (paying instanceof GatewayError) return paying;
  record.operation = plan.operation;
  record.asked = plan.asked;
  record.streamed = plan.streamed;
  const reader = new ReplyReader(framed, reply, window);
  const ended = await execute(
    plan,
    {
      // The same random characters name the request and its transaction, so that one leads to the other.
      id: request.id.replace(/^req_/, "tx_"),
      payer: paying.payer,
      funds: paying.funds,
      parent: null,
      signal: null,
      deadlineMs: null,
      reader,
    },
    deps,
  );
  reader.stop();
  note(ended, record);
  window.tell();
  if (ended.isReplay) reply.header("idempotent-replayed", "true");
  try {
    return finish(ended, framed, reader, answering);
  } catch (error) {
    if (!reader.begun) throw error;
    // A whole answer can no longer be told apart from half a one by its content, so the connection tells it.
    deps.onBroken(error, request.id);
    record.code = "internal_error";
    reply.cut();
    return null;
  }
}

interface Paying {
  readonly payer: Payer;
  readonly funds: Funds;
}

function keyPays(
  plan: Plan,
  request: GatewayRequest,
  caller: Caller,
  window: ToldWindow,
  deps: ServeDeps,
): Paying | GatewayError {
  if (caller.frozen) return new GatewayError("account_frozen");
  if (caller.paused && !plan.whilePaused) return new GatewayError("key_paused");
  const onWindow = (state: Parameters<ToldWindow["learn"]>[0]) => void window.learn(state);
  return { payer: caller.payer, funds: new LedgerFunds(deps, caller, { requestId: request.id, onWindow }) };
}

async function strangerPays(plan: Plan, request: GatewayRequest, deps: ServeDeps): Promise<Paying | GatewayError> {
  if (deps.stranger !== null) return deps.stranger.pay(plan, request);
  return new GatewayError("invalid_token", { detail: { detail: "This call needs a key." } });
}

/** What is known of the call that has ended goes into the request's record. */
function note(ended: Ended, record: RequestRecord): void {
  const { outcome, charge, cost, served } = ended;
  record.outcome = outcome;
  record.attempts = ended.isReplay ? [] : ended.legs;
  record.heldNano = ended.heldNano;
  record.skippedEvents = ended.skippedEvents;
  if (ended.firstContentMs !== null) record.firstTokenMs = ended.firstContentMs - record.startedMs;
  if (charge !== null && ended.isReplay) record.transactionId = charge.transactionId;
  if (served !== null) {
    record.served = served.model;
    record.provider = served.provider;
  }
  if (cost === null || charge === null || ended.isReplay || charge.transactionId === null) return;
  record.usage = cost.usage;
  record.estimated = cost.estimated;
  record.upstreamNano = cost.upstreamNano;
  record.chargedNano = charge.chargedNano;
  record.absorbedNano = charge.absorbedNano;
  record.absorbReason = charge.absorbReason;
  if (charge.absorbReason === null || charge.absorbReason === "usage_above_hold") {
    record.transactionId = charge.transactionId;
  }
}

/** Writes the last bytes, which acknowledge what the funds have committed. An error comes back where no head is out yet. */
function finish(
  ended: Ended,
  framed: FramedPlan,
  reader: ReplyReader,
  { reply, record }: Answering,
): GatewayError | null {
  const { frame } = framed;
  record.bytesOut = reader.bytes;
  const isLeft = ended.outcome === "left_before_content" || ended.outcome === "left_after_content";
  if (isLeft) {
    if (ended.outcome === "left_after_content") record.status = 200;
    return null;
  }
  if (ended.error !== null) {
    if (!reader.begun) return ended.error;
    record.status = 200;
    record.code = ended.error.code;
    const told = frame.broken(ended.error, ended.legs);
    if (told === null) {
      reply.cut();
      return null;
    }
    record.bytesOut += Buffer.byteLength(told);
    reply.end(told);
    return null;
  }
  const { final, cost, charge } = ended;
  if (final === null || cost === null || charge === null) throw new Error("an answer has its last part and its price");
  const last = frame.last(final, cost, charge, ended.legs);
  record.status = 200;
  record.bytesOut += Buffer.byteLength(last);
  if (final.kind === "stream") {
    // Where no content came, the head is still to be written.
    if (ended.served !== null) reader.begin(ended.served, ended.legs);
    reply.end(last);
  } else if (ended.served === null) {
    reply.header("content-type", "application/json");
    reply.send(200, last);
  } else {
    sendWhole(reply, framed, { served: ended.served, ended, last });
  }
  return null;
}

function sendWhole(
  reply: Reply,
  { frame }: FramedPlan,
  { served, ended, last }: { served: Candidate; ended: Ended; last: Uint8Array | string },
): void {
  frame.head(reply, served, ended.legs, ended.charge);
  reply.send(200, last);
}

function refuse(error: GatewayError, endpoint: Endpoint, { reply, window, record }: Answering): void {
  record.status = error.status;
  record.code = error.code;
  record.outcome ??= "refused";
  if (reply.closed) return;
  window.tell();
  record.bytesOut = sendError(reply, error, endpoint.errors);
}

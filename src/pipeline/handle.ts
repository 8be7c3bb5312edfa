// The story of every request: admit, plan, reserve, dispatch and relay, settle, last byte. Knows no transport.
import { GatewayError } from "../errors.ts";
import { usdText } from "../money.ts";
import type { RequestRecord } from "../observe/record.ts";
import type {
  AttemptFailure,
  Caller,
  Charge,
  Endpoint,
  FinalPart,
  GatewayRequest,
  Plan,
  Reply,
  Route,
} from "../plan.ts";
import { admit } from "./admit.ts";
import type { PipelineDeps } from "./deps.ts";
import { type Dispatched, dispatch } from "./dispatch.ts";
import { failureError } from "./failure-error.ts";
import { Relay } from "./relay.ts";
import { sendError } from "./render-error.ts";
import { replay } from "./replay.ts";
import { reserve } from "./reserve.ts";
import { goneError, isGone, retirementHeaders, retirementOf } from "./retirement.ts";
import { sendStream } from "./send-stream.ts";
import { type Settled, settle, settleFree } from "./settle.ts";
import { ToldWindow } from "./told-window.ts";

const INTERNAL: AttemptFailure = { kind: "gateway_internal", status: 0, message: "internal error", retryAfterMs: null };

/** Where a request is answered, and what is noted of it. */
interface Answering {
  readonly reply: Reply;
  readonly window: ToldWindow;
  readonly record: RequestRecord;
}

/** Everything that one paid request has at hand while it runs. */
interface Paid extends Answering {
  readonly plan: Plan;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly deps: PipelineDeps;
}

/** Serves one request to its last byte. Never rejects. */
export async function handle(
  request: GatewayRequest,
  endpoint: Endpoint,
  reply: Reply,
  deps: PipelineDeps,
): Promise<void> {
  const record = deps.observer.begin({ requestId: request.id, method: request.method, startedMs: request.startedMs });
  record.endpoint = endpoint.path;
  record.bytesIn = request.body.length;
  const answering = { reply, window: new ToldWindow(reply), record };
  try {
    const refused = await serve(request, endpoint, answering, deps);
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

async function serve(
  request: GatewayRequest,
  endpoint: Endpoint,
  { reply, window, record }: Answering,
  deps: PipelineDeps,
): Promise<GatewayError | null> {
  const retires = announce(request, endpoint, reply, deps);
  const caller = await admit(request, endpoint, window, deps);
  if (caller instanceof GatewayError) return caller;
  if (retires !== undefined && isGone(retires, deps.clock.epochMs())) return goneError(retires);
  if (caller !== null) {
    record.accountId = caller.payer.accountId;
    record.keyId = caller.payer.keyId;
    record.sandbox = caller.payer.sandbox;
    if (caller.payer.sandbox) reply.header("x-tollgate-sandbox", "1");
  }
  if (!("plan" in endpoint)) {
    const answer = await ("stream" in endpoint ? endpoint.stream : endpoint.answer)({ request, caller });
    if (answer instanceof GatewayError) return answer;
    window.tell();
    if ("bytes" in answer) return sendStream(answer, reply, record);
    for (const [name, value] of Object.entries(answer.headers ?? {})) reply.header(name, value);
    if (answer.headers?.["content-type"] === undefined && answer.status !== 304)
      reply.header("content-type", "application/json");
    const asItIs = typeof answer.body === "string" || answer.body instanceof Uint8Array;
    const body = asItIs ? (answer.body as string | Uint8Array) : JSON.stringify(answer.body);
    record.status = answer.status;
    record.bytesOut = Buffer.byteLength(body);
    reply.send(answer.status, body);
    return null;
  }
  if (caller === null) return new GatewayError("invalid_token", { detail: { detail: "This call needs a key." } });
  const plan = await endpoint.plan({ request, caller });
  if (plan instanceof GatewayError) return plan;
  for (const [name, value] of Object.entries(plan.headers ?? {})) reply.header(name, value);
  if (caller.frozen) return new GatewayError("account_frozen");
  if (caller.paused && !plan.free) return new GatewayError("key_paused");
  if (plan.maxCostNano !== null && plan.quote.nano > plan.maxCostNano) {
    const needed = usdText(plan.quote.nano);
    return new GatewayError("max_cost_exceeded", { detail: { needed_usd: needed }, param: "max_cost_cents" });
  }
  return pay({ plan, caller, reply, window, record, endpoint, deps }, request.id);
}

/** Says on every answer, whatever it will be, that what was asked for retires. */
function announce(request: GatewayRequest, endpoint: Endpoint, reply: Reply, deps: PipelineDeps) {
  const retires = retirementOf(endpoint, request);
  if (retires === undefined) return undefined;
  for (const [name, value] of Object.entries(retirementHeaders(retires, deps.clock.epochMs())))
    reply.header(name, value);
  return retires;
}

/** From the hold to the last byte. Nothing stands between the hold and the `try`. */
async function pay(paid: Paid, requestId: string): Promise<GatewayError | null> {
  const { plan, caller, reply, window, record, deps } = paid;
  record.operation = plan.operation;
  record.asked = plan.asked;
  record.streamed = plan.streamed;
  const fromMs = deps.clock.elapsedMs();
  const hold = plan.free ? null : await reserve(plan, { caller, window }, requestId, deps);
  if (hold !== null) deps.observer.ledgerTook("reserve", deps.clock.elapsedMs() - fromMs);
  if (hold instanceof GatewayError) {
    record.outcome = "refused";
    return hold;
  }
  if (hold !== null && "replayOf" in hold) {
    window.tell();
    return replay({ accountId: caller.payer.accountId, holdId: hold.replayOf }, paid);
  }
  if (hold !== null) deps.leases.keep(hold);
  let dispatched: Dispatched | null = null;
  let settled: Settled;
  const relay = new Relay(plan, reply, deps.clock);
  try {
    window.tell();
    if (hold !== null) record.heldNano = hold.amountNano;
    dispatched = await dispatch(plan, { relay, health: deps.health, clock: deps.clock, record });
    for (const { kind, told, message } of "failures" in dispatched ? dispatched.failures : [])
      if (kind === "gateway_internal" && told === undefined) deps.onBroken(new Error(message), requestId);
  } catch (error) {
    deps.onBroken(error, requestId);
    dispatched = { outcome: relay.begun ? "broken" : "failed", failures: [INTERNAL] };
  } finally {
    const parts = { deps, record, payer: caller.payer };
    settled = await (hold === null ? settleFree(plan, dispatched, parts) : settle(hold, plan, dispatched, parts));
    relay.stop();
  }
  record.outcome = dispatched.outcome;
  if (relay.committedMs !== null) record.firstTokenMs = relay.committedMs - record.startedMs;
  try {
    return finish(paid, { relay, dispatched, settled });
  } catch (error) {
    if (!relay.begun) throw error;
    // A whole answer can no longer be told apart from half a one by its content, so the connection tells it.
    deps.onBroken(error, requestId);
    record.code = "internal_error";
    reply.cut();
    return null;
  }
}

interface Ended {
  readonly relay: Relay;
  readonly dispatched: Dispatched;
  readonly settled: Settled;
}

/** Writes the last bytes, which acknowledge what the ledger has committed. */
function finish(paid: Paid, { relay, dispatched, settled }: Ended): GatewayError | null {
  const { plan, reply, record } = paid;
  if (dispatched.outcome === "left_before_content" || dispatched.outcome === "left_after_content") {
    if (dispatched.outcome === "left_after_content") noteServed(record, dispatched.served);
    record.bytesOut = relay.bytes;
    return null;
  }
  if (dispatched.outcome === "success" && settled.kind === "posted") {
    const { served } = dispatched;
    const final = settled.final ?? dispatched.final;
    noteServed(record, served);
    const last = plan.frame.last(final, settled.cost, settled.charge, record.attempts);
    sendLast(paid, relay, { served, final, last, charge: settled.charge });
    record.status = 200;
    record.bytesOut = relay.bytes + last.length;
    return null;
  }
  const error =
    dispatched.outcome === "success"
      ? new GatewayError("ledger_unavailable", { retryAfterSeconds: 5 })
      : failureError(plan, dispatched.failures, record.attempts);
  if (!relay.begun) return error;
  record.status = 200;
  record.code = error.code;
  record.bytesOut = relay.bytes;
  const told = plan.frame.broken(error, record.attempts);
  if (told === null) reply.cut();
  else reply.end(told);
  return null;
}

function sendLast(
  { plan, reply, record }: Paid,
  relay: Relay,
  { served, final, last, charge }: { served: Route; final: FinalPart; last: Uint8Array | string; charge: Charge },
): void {
  if (final.kind === "stream") {
    relay.beginIfNeeded(served, record.attempts);
    reply.end(last);
    return;
  }
  plan.frame.head(reply, served, record.attempts, charge);
  reply.send(200, last);
}

function noteServed(record: RequestRecord, served: Route): void {
  record.served = served.model;
  record.provider = served.provider;
  if (record.status === 0) record.status = 200;
}

function refuse(error: GatewayError, endpoint: Endpoint, { reply, window, record }: Answering): void {
  record.status = error.status;
  record.code = error.code;
  record.outcome ??= "refused";
  if (reply.closed) return;
  window.tell();
  record.bytesOut = sendError(reply, error, endpoint.errors);
}

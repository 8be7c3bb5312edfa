// The kernel's HTTP entry point: takes each call through the phases in order, and renders the error that ends it early.
import { goneError, isGone, retirementHeaders, retirementOf } from "../../catalog/retirement.ts";
import type { Endpoint, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { addressWindowKey } from "../../platform/limits/request-windows.ts";
import { admit } from "./admit.ts";
import { answerFree } from "./answer-free.ts";
import { answerFromCache } from "./cached-answers.ts";
import { addHeaders, Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { guard, guardAnswer } from "./guard.ts";
import { joinRun } from "./join-run.ts";
import { pay } from "./pay.ts";
import { refuse } from "./refuse.ts";
import { screenLongBody, screenUpload } from "./screen.ts";
import { tap } from "./tap.ts";

/** One step of a call. Throws to end the call early; returns a promise only where it must wait. */
type Phase = (call: Call, deps: ServeDeps) => Promise<void> | void;

const PHASES: readonly Phase[] = [
  announceRetirement,
  admit,
  refuseRetired,
  screenLongBody,
  checkAnswerBudget,
  answerFree,
  joinRun,
  answerFromCache,
  tap,
  screenUpload,
  plan,
  guard,
  guardAnswer,
  pay,
];

/** Serves one request to its last byte. Never rejects. */
export async function serve(request: GatewayRequest, endpoint: Endpoint, reply: Reply, deps: ServeDeps): Promise<void> {
  const call = new Call(request, endpoint, reply, deps);
  const { record } = call;
  record.endpoint = endpoint.path;
  record.watched = endpoint.watch === true;
  let error: unknown = null;
  try {
    for (let at = 0; at < PHASES.length && !call.isAnswered; at++) {
      const waiting = PHASES[at]?.(call, deps);
      if (waiting !== undefined) await waiting;
    }
  } catch (thrown) {
    error = thrown;
  }
  try {
    if (call.hasEndings) await call.end(error);
    if (error !== null) {
      record.outcome ??= "refused";
      await refuse(call, error, deps);
    }
  } catch (fault) {
    // An error that cannot be written is our own fault.
    await refuse(call, fault, deps);
  } finally {
    if (request.incoming !== undefined) record.bytesIn = request.incoming.bytes;
    deps.observer.end(record);
  }
}

/** Adds the retirement headers to every answer of a retiring endpoint or model. */
function announceRetirement(call: Call, { clock }: ServeDeps): void {
  const retires = retirementOf(call.endpoint, call.request);
  call.retires = retires;
  if (retires !== undefined) addHeaders(call.reply, retirementHeaders(retires, clock.epochMs()));
}

function refuseRetired(call: Call, { clock }: ServeDeps): void {
  const { retires } = call;
  if (retires !== undefined && isGone(retires, clock.epochMs())) call.refuse(goneError(retires));
}

/** From here on the answer's memory counts against the caller. Refuses a caller with too many unread answers. */
function checkAnswerBudget(call: Call, { answers, paying }: ServeDeps): void {
  const { caller, endpoint, request, reply } = call;
  // Reading the address costs a system call, so requests with a key avoid it.
  const owner = caller === null ? addressWindowKey(request.address) : caller.payer.id;
  reply.belongTo(owner);
  // A call made within another call has no answer that a client reads.
  if (endpoint.auth === "admin" || endpoint.watch === true || paying !== undefined) return;
  const refusal = answers.refusal(owner);
  if (refusal !== null) call.refuse(refusal);
}

/** An anonymous caller who offers play money calls the sandbox. */
const PLAY_MONEY = { sandbox: true, payer: null, allows: { services: null, models: null }, strictBounds: false };

function plan(call: Call, { anonymousPayer }: ServeDeps): Promise<void> | void {
  const { caller, request, reply, record } = call;
  if (caller === null && anonymousPayer?.takes(request.headers) === "play_money") {
    record.sandbox = true;
    reply.header("x-tollgate-sandbox", "1");
    call.audience = PLAY_MONEY;
  }
  return call.plan();
}

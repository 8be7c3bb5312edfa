// Finds who pays for a plan, has the kernel execute it, and writes the outcome.
import type { FramedOpenPlan } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { transactionIdOf } from "../../core/ids.ts";
import { ZERO } from "../../core/money.ts";
import type { Ended } from "../../core/plan.ts";
import { execute } from "../../kernel/execute.ts";
import { keyPays, type Paying } from "../../kernel/key-pays.ts";
import { addHeaders, type Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { finish } from "./finish.ts";
import { note } from "./note.ts";
import { refuse } from "./refuse.ts";
import { ReplyReader } from "./reply-reader.ts";
import { whileGood } from "./still-good.ts";

const NO_BODY = Buffer.alloc(0);

export async function pay(call: Call, deps: ServeDeps): Promise<void> {
  const { request, caller, framed, reply, rateLimit } = call;
  if (framed === null) return;
  const { plan } = framed;
  let stop: (() => void) | null = null;
  try {
    if (framed.asked !== undefined) call.content?.begin(framed.asked);
    // The plan holds what is sent upstream: do not keep the caller's bytes while the call runs.
    request.body = NO_BODY;
    if (framed.headers !== undefined) addHeaders(reply, framed.headers);
    const finding = payingFor(call, deps);
    const { payer, funds } = call.orRefuse(finding instanceof Promise ? await finding : finding);
    notePlan(call, framed);
    // A paid call runs to its end; a job's progress stream is free and lasts as long as the job.
    const lasts = plan.streamed && plan.operation === "run" && plan.quote.nano === ZERO;
    const barred = lasts && caller !== null ? new AbortController() : null;
    if (barred !== null && caller !== null) stop = whileGood({ ...call, caller }, deps, () => barred.abort());
    const reader = new ReplyReader(framed, { reply, rateLimit }, () => call.tellRun());
    const stopping = stoppable(call, reader, deps);
    // The request id and the transaction id share their random characters, so that one leads to the other.
    const id = transactionIdOf(request.id);
    const signal = stopping?.signal ?? barred?.signal ?? null;
    const ended = await execute(plan, { id, payer, funds, parent: null, signal, deadlineMs: null, reader }, deps);
    reader.stop();
    stopping?.over();
    if (stopping?.isStopped() === true) await noteStopped(call, ended, deps);
    else write(call, ended, reader, deps);
  } finally {
    stop?.();
    framed.ended?.();
  }
}

/** Lets a stop of the call's run end it; null: it is part of none. */
function stoppable(call: Call, reader: ReplyReader, deps: ServeDeps) {
  const { run } = call;
  if (run === null) return null;
  const notBegun = new AbortController();
  let isStopped = false;
  const stop = (error: GatewayError) => {
    if (isStopped) return;
    isStopped = true;
    // A call that has begun is charged as if its client had left, one that has not is not run.
    if (!reader.isAdmitted) notBegun.abort();
    call.record.code = error.code;
    if (!reader.endWith(error))
      refuse(call, error, deps).catch((fault: unknown) => deps.onBroken(fault, call.request.id));
  };
  return { signal: notBegun.signal, over: deps.runs.running.add({ run, stop }), isStopped: () => isStopped };
}

/** Records a call whose answer ended when its run was stopped. Work that it launched meanwhile is cancelled. */
async function noteStopped({ run, record }: Call, ended: Ended, { runs }: ServeDeps): Promise<void> {
  note(ended, record);
  record.status = record.status === 0 ? 200 : record.status;
  if (run !== null) await runs.cancelWork(run.record.accountId, run.id);
}

function notePlan({ record }: Call, { plan }: FramedOpenPlan): void {
  record.operation = plan.operation;
  record.asked = plan.asked;
  record.tags = plan.tags ?? record.tags;
  record.streamed = plan.streamed;
}

function write(call: Call, ended: Ended, reader: ReplyReader, deps: ServeDeps): void {
  const { reply, rateLimit, record } = call;
  note(ended, record);
  rateLimit.tell();
  if (ended.isReplay) reply.header("idempotent-replayed", "true");
  let error: GatewayError | null = null;
  try {
    error = finish(call, ended, reader);
  } catch (fault) {
    if (!reader.begun) throw fault;
    // The content no longer shows whether the answer is complete, so cut the connection.
    deps.onBroken(fault, record.requestId);
    record.code = "internal_error";
    reply.cut();
  }
  if (error !== null) call.refuse(error);
}

/** The payer and funds of a call; or why its caller may not pay, which for an anonymous caller may be the payment challenge. */
export function payingFor(
  { request, caller, framed, rateLimit, requestHash }: Call,
  deps: ServeDeps,
): Paying | GatewayError | Promise<Paying | GatewayError> {
  if (framed === null) throw new Error("a call is paid for once it has a plan");
  const { plan } = framed;
  if (deps.paying !== undefined) return deps.paying;
  if (caller !== null) return keyPays(plan, caller, { requestId: request.id, rateLimit, requestHash }, deps);
  if (deps.anonymousPayer !== null) return deps.anonymousPayer.pay(plan, request);
  return new GatewayError("invalid_token", { detail: { detail: "This call needs a key." } });
}

// Finds who pays for a plan, has the kernel execute it, and writes the outcome.
import type { FramedOpenPlan, Framing, Reply } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { transactionIdOf } from "../../core/ids.ts";
import { ZERO } from "../../core/money.ts";
import type { Ended } from "../../core/plan.ts";
import { jsonText } from "../../core/raw-json.ts";
import { execute } from "../../kernel/execute.ts";
import { keyPays, type Paying } from "../../kernel/key-pays.ts";
import { addHeaders, type Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { note } from "./note.ts";
import { refuse } from "./refuse.ts";
import { addHead, ReplyReader } from "./reply-reader.ts";
import { whileGood } from "./still-good.ts";

/** Writes the last bytes, which confirm what the funds have committed. Returns an error where no head was written yet. */
function finish(call: Call, ended: Ended, reader: ReplyReader): GatewayError | null {
  const { framed, reply, record } = call;
  if (framed === null) throw new Error("only a planned call is finished");
  const { frame } = framed;
  record.bytesOut = reader.bytes;
  if (ended.outcome === "left_before_content") return null;
  if (ended.outcome === "left_after_content") {
    record.status = 200;
    return null;
  }
  if (ended.error !== null) {
    if (!reader.begun) return ended.error;
    record.status = 200;
    record.code = ended.error.code;
    record.told = ended.error.message;
    const told = frame.broken(ended.error, ended.legs);
    if (told === null) {
      reply.cut();
      return null;
    }
    record.bytesOut += Buffer.byteLength(told);
    reply.end(told);
    return null;
  }
  const { final, cost, charge, served, legs } = ended;
  if (final === null || cost === null || charge === null) throw new Error("an answer has its last part and its price");
  const replaysAsStream = served === null && framed.plan.streamed;
  const replayed = replaysAsStream ? keptAsStream(ended, framed, reply) : null;
  if (replaysAsStream && replayed === null && final.kind === "body") {
    const detail = "Idempotency-Key: the answer that is kept under it cannot be told as a stream; ask for it whole";
    return new GatewayError("bad_request", { param: "Idempotency-Key", detail });
  }
  const last = replayed ?? frame.last(final, cost, charge, legs);
  if (!reader.begun) {
    call.tellRun();
    addHeaders(reply, charge.headers);
  }
  record.status = 200;
  record.bytesOut += Buffer.byteLength(last);
  if (final.kind === "stream") {
    // Without any content the head is still to be written.
    if (served !== null) reader.begin(served, legs);
    reply.end(last);
    return null;
  }
  if (served !== null) addHead(framed, reply, { served, legs, charge });
  else if (replayed === null) reply.header("content-type", "application/json");
  reply.send(200, last);
  return null;
}

/** Converts a whole answer, stored under the call's idempotency key, to the stream that this call requests; null: it is sent whole. */
function keptAsStream({ final, cost, charge, legs }: Ended, { frame, retell }: Framing, reply: Reply) {
  if (final?.kind !== "body" || cost === null || charge === null) return null;
  const { json = jsonText(final.body), created, created_at: createdAt = created } = final.body;
  const kept = { text: String(json), type: "application/json", model: legs.at(-1)?.model ?? "" };
  const stream = retell?.({ ...kept, createdS: Number(createdAt ?? 0), cost, charge, legs }) ?? null;
  if (stream !== null) frame.keepAlive?.headers(reply);
  return stream;
}

const NO_BODY = Buffer.alloc(0);

export async function pay(call: Call, deps: ServeDeps): Promise<void> {
  const { request, caller, framed, reply, rateLimit } = call;
  if (framed === null) return;
  const { plan } = framed;
  let stop: (() => void) | null = null;
  try {
    if (framed.asked !== undefined) call.content?.begin(framed.asked);
    // The plan holds what is sent upstream: do not keep the caller's bytes while the call runs.
    framed.asked = undefined;
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
  return new GatewayError("invalid_token", { detail: "This call needs a key." });
}

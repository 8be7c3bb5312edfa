// Launches a batch: a plan whose hold is empty at first and passes to the batch's job, which holds for each part when it is due.
import type { Frame, FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { jobIdOf, transactionIdOf } from "../../core/ids.ts";
import { usdText, ZERO } from "../../core/money.ts";
import { type AccountPayer, isAccountPayer, type Payer, type Plan, type Slot } from "../../core/plan.ts";
import type { AnswerSink, Candidate } from "../../core/route.ts";
import { retrying } from "../../kernel/routes/retrying.ts";
import { callTags } from "../../models/formats/call-tags.ts";
import { idempotencyOf } from "../../models/formats/idempotency-key.ts";
import type { Records } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";
import { NOTHING_READ } from "../../upstream/nothing-read.ts";
import { KEPT_LEASE_MS } from "../run/action-plan.ts";
import { BATCH, BATCH_INPUT, BATCH_JOB, type BatchStart, batchIdOf, KEPT_MS } from "./batch-record.ts";

/** How many batches one account may have at once. */
const IN_FLIGHT_MAX = 50;
const MS_MAX = 30_000;
const SLOTS: readonly Slot[] = [{ scope: `jobs ${BATCH_JOB}`, max: IN_FLIGHT_MAX, code: "too_many_inflight" }];

const listOfFile = (fileId: string): string => `file:${fileId}`;

/** The ids of the jobs that read a file. */
export async function* jobsReading(fileId: string, records: Pick<Records, "list">): AsyncGenerator<string> {
  for await (const { value } of walk(records, BATCH_INPUT, listOfFile(fileId))) yield value;
}

/** Lists the batch, and names it as a reader of its input. A launch that fails afterwards leaves names without a job. */
async function enter(jobId: string, { wire, inputId }: BatchStart, payer: Payer, records: Records): Promise<void> {
  const kept = { ttlMs: KEPT_MS, ifVersion: null } as const;
  const id = batchIdOf(jobId, wire);
  await records.put({
    kind: BATCH_INPUT,
    id: `${inputId}/${jobId}`,
    payer: listOfFile(inputId),
    value: jobId,
    ...kept,
  });
  await records.put({ kind: BATCH, id, payer: payer.id, value: jobId, ...kept });
}

/** Answers at once: the work is the job's. */
function launching(body: Record<string, unknown>): Candidate {
  return {
    provider: "tollgate",
    model: BATCH_JOB,
    healthKey: BATCH_JOB,
    firstTokenMsMax: MS_MAX,
    lastFirstTokenMsMax: MS_MAX,
    readOnMsMax: 0,
    pointlessAfter: () => false,
    open(sink: AnswerSink) {
      let isOver = false;
      queueMicrotask(() => {
        if (!isOver) sink.done({ kind: "body", body });
      });
      const nothing = () => {};
      const abort = () => {
        isOver = true;
      };
      return { pause: nothing, resume: nothing, abort, accepted: () => true, reading: () => NOTHING_READ };
    },
  };
}

const FRAME: Frame = {
  keepAlive: null,
  head(reply, _served, _legs, charge) {
    reply.header("content-type", "application/json");
    if (charge !== null) reply.header("x-tollgate-cost-usd", usdText(charge.chargedNano));
  },
  last: (final) => (final.kind === "body" ? JSON.stringify(final.body) : ""),
  broken: () => null,
};

export interface NewBatch {
  readonly start: BatchStart;
  /** What the caller sent, for the fingerprint of its Idempotency-Key. */
  readonly sent: unknown;
  /** The batch as its creator sees it. */
  view(jobId: string): Record<string, unknown>;
  /** Runs once the batch is accepted, before its job can start. */
  accepted?(): Promise<void>;
}

/** Returns the payer of a batch. Throws unless it is an account: only an account can pay for work that outlives its request. */
export function payerOf({ audience }: PlanCall): AccountPayer {
  const { payer } = audience;
  if (payer !== null && isAccountPayer(payer)) return payer;
  throw new GatewayError("invalid_token", { detail: "A batch needs a key." });
}

export function launchPlan(
  { request }: PlanCall,
  payer: AccountPayer,
  { start, sent, view, accepted }: NewBatch,
  records: Records,
): FramedPlan {
  const idempotency = idempotencyOf(request, sent);
  const tags = callTags(request);
  const id = transactionIdOf(request.id);
  const jobId = jobIdOf(id);
  const order = { operation: BATCH_JOB, inference: true } as const;
  const plan: Plan = {
    ...order,
    asked: start.endpoint.slice("/v1/".length),
    streamed: false,
    effect: "write",
    quote: { nano: ZERO, tighten: null, affordable: () => ({}), upstreamNano: () => ZERO },
    hold: {
      kind: "kept",
      owner: `job:${jobId}`,
      leaseMs: KEPT_LEASE_MS,
      onExpire: "void",
      job: BATCH_JOB,
      action: BATCH_JOB,
      start,
      tags,
      sandboxFault: request.headers.get("x-tollgate-sandbox-fault") ?? null,
      chain: { firstId: id, keyId: payer.keyId, asked: BATCH_JOB, slots: SLOTS, onExpire: "void", ...order },
    },
    whilePaused: false,
    maxCostNano: null,
    slots: SLOTS,
    idempotency,
    tags,
    route: retrying(launching(view(jobId))),
    wholeMsMax: MS_MAX,
    attemptsMax: 1,
    failedStatus: 500,
    timedOutStatus: 500,
    whenCallerLeaves: "finish",
    cost: () => ({ chargeNano: ZERO, upstreamNano: ZERO, usage: null, estimated: false, priceVersion: BATCH_JOB }),
    async prepare(final) {
      await accepted?.();
      await enter(jobId, start, payer, records);
      return final;
    },
  };
  return { plan, frame: FRAME, keepAliveMs: null };
}

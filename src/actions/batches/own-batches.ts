// Finds, lists and cancels an account's batches, whichever of its keys created them.
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import { walk } from "../../platform/records/walk.ts";
import { cancelledAt } from "../jobs/cancelled.ts";
import { findJob, isOver } from "../jobs/job-record.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { BATCH, BATCH_JOB, type BatchWire, batchIdOf, jobIdOfBatch } from "./batch-record.ts";
import { type BatchState, batchState } from "./batch-view.ts";

export interface OwnBatchesParts {
  readonly records: Records;
  /** Read for each call, because jobs are opened later. */
  readonly jobs: () => Pick<Jobs, "cancel">;
}

export class OwnBatches {
  readonly #parts: OwnBatchesParts;
  readonly #wire: BatchWire;

  constructor(parts: OwnBatchesParts, wire: BatchWire) {
    this.#parts = parts;
    this.#wire = wire;
  }

  /** Throws a 404 where the account has no such batch. */
  async find(id: string, payer: Pick<Payer, "id">): Promise<BatchState> {
    const jobId = jobIdOfBatch(id, this.#wire);
    const state = jobId === null ? null : await this.#state(jobId, payer);
    if (state === null) throw noSuchBatch(id);
    return state;
  }

  async #state(jobId: string, payer: Pick<Payer, "id">): Promise<BatchState | null> {
    const { records } = this.#parts;
    const found = await findJob(records, jobId);
    if (found === null || found.job.kind !== BATCH_JOB || found.job.payer.id !== payer.id) return null;
    return batchState(found.job, await cancelledAt(records, jobId));
  }

  /** Newest first. */
  async *all(payer: Pick<Payer, "id">): AsyncGenerator<BatchState & { readonly id: string }> {
    for await (const { id, value: jobId } of walk(this.#parts.records, BATCH, payer.id)) {
      const state = batchIdOf(jobId, this.#wire) === id ? await this.#state(jobId, payer) : null;
      if (state !== null) yield { ...state, id };
    }
  }

  async cancel(id: string, payer: Payer): Promise<BatchState> {
    const state = await this.find(id, payer);
    const isEnded = state.result !== null;
    if (isEnded) throw new GatewayError("conflict", { detail: `The batch is ${state.status} already.` });
    await this.#parts.jobs().cancel(state.jobId, payer);
    return this.find(id, payer);
  }

  /** Forgets a batch that is over. */
  async forget(id: string, jobId: string): Promise<boolean> {
    const { records } = this.#parts;
    const found = await findJob(records, jobId);
    if (found !== null && !isOver(found.job)) return false;
    await records.delete("job", jobId);
    await records.delete(BATCH, id);
    return true;
  }
}

function noSuchBatch(id: string): GatewayError {
  const detail = `This account has no batch ${id.slice(0, 80)}.`;
  return new GatewayError("not_found", { of: "issued_id", detail });
}

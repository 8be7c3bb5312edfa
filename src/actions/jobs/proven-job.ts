// The record of a job that runs here. Each versioned write proves that this process still owns the job.

import { LeaseLost } from "../../catalog/job-kind.ts";
import type { Leg } from "../../core/route.ts";
import type { Records } from "../../platform/records/records.ts";
import { findJob, type JobRecord, putJob, type StoredJob } from "./job-record.ts";

/** A write that may wait, because callers wait for writes to the same file. A job's end is written at once. */
export const PATIENT = { isPatient: true } as const;

export interface ProvenJobParts {
  readonly records: Records;
  readonly legs: () => readonly Leg[];
  /** Called when the job no longer belongs to this process. */
  readonly onLost: () => void;
  /** Called after each write. */
  readonly onWritten: (job: JobRecord) => void;
}

export class ProvenJob {
  readonly #parts: ProvenJobParts;
  #job: JobRecord;
  #version: number;
  /** The write in progress, and the next one, which callers share that asked meanwhile. */
  #putting: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #isLost = false;
  #wasAway = false;

  constructor({ job, version }: StoredJob, parts: ProvenJobParts) {
    this.#parts = parts;
    this.#job = job;
    this.#version = version;
  }

  /** The latest state in this process, written or not. */
  get job(): JobRecord {
    return this.#job;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get wasAway(): boolean {
    return this.#wasAway;
  }

  readonly away = (error: unknown): never => {
    this.#wasAway = true;
    throw error;
  };

  lose(): void {
    this.#isLost = true;
    this.#parts.onLost();
  }

  /** Merges changes into the state that the next write stores. */
  note(changes: Partial<JobRecord>): void {
    this.#job = { ...this.#job, ...changes };
  }

  /** Writes the state, with a version check. A call during a write waits for the next one. */
  prove(): Promise<void> {
    if (this.#putting === null) {
      this.#putting = this.#put().finally(() => {
        this.#putting = null;
      });
      return this.#putting;
    }
    this.#next ??= this.#putting
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.prove();
      });
    return this.#next;
  }

  async #put(): Promise<void> {
    const { records, legs, onWritten } = this.#parts;
    if (this.#isLost) throw new LeaseLost();
    const state = this.#job.state === "queued" ? "running" : this.#job.state;
    const job = { ...this.#job, state, legs: legs() };
    this.#job = job;
    const version = await putJob(records, job, this.#version, state === "running" ? PATIENT : {})
      .catch(async (error: unknown) => {
        // The write may have succeeded all the same: then the store has exactly this record.
        const stored = await findJob(records, job.id);
        if (stored !== null && JSON.stringify(stored.job) === JSON.stringify(job)) return stored.version;
        throw error;
      })
      .catch(this.away);
    if (version === null) {
      this.lose();
      throw new LeaseLost();
    }
    this.#version = version;
    onWritten(job);
  }
}

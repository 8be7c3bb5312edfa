// The record of a job that runs here: each write of it proves that the job is still this process's.

import { LeaseLost } from "../../catalog/job-kind.ts";
import type { Leg } from "../../core/route.ts";
import type { Records } from "../../platform/records/records.ts";
import { findJob, type JobRecord, putJob, type StoredJob } from "./job-record.ts";

/** A page takes seconds, and beside two hundred jobs callers wait whose calls are written in the same file. Its end is written at once. */
export const PATIENT = { isPatient: true } as const;

export interface ProvenJobParts {
  readonly records: Records;
  /** What its calls have left so far. */
  readonly legs: () => readonly Leg[];
  /** The job is no longer this process's to end. */
  readonly onLost: () => void;
  /** It has been written. */
  readonly onWritten: (job: JobRecord) => void;
}

export class ProvenJob {
  readonly #parts: ProvenJobParts;
  #job: JobRecord;
  #version: number;
  /** The put that is under way, and the one that is to follow it for those who asked meanwhile. */
  #putting: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #isLost = false;
  #wasAway = false;

  constructor({ job, version }: StoredJob, parts: ProvenJobParts) {
    this.#parts = parts;
    this.#job = job;
    this.#version = version;
  }

  /** As it is known here, written or not. */
  get job(): JobRecord {
    return this.#job;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** The store did not answer when it was asked for this job. */
  get wasAway(): boolean {
    return this.#wasAway;
  }

  /** Notes that the store has failed, and passes the failure on. */
  readonly away = (error: unknown): never => {
    this.#wasAway = true;
    throw error;
  };

  /** Nothing is written any more. */
  lose(): void {
    this.#isLost = true;
    this.#parts.onLost();
  }

  /** What the next write says beside what is known. */
  note(changes: Partial<JobRecord>): void {
    this.#job = { ...this.#job, ...changes };
  }

  /** A versioned put of what is known: a request while one is under way is proven by the next. */
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
        // It may have been written all the same: then it is there, word for word.
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

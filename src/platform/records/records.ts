// Everything stored that is not money: jobs, files, ownership of vendor ids, stored answers. One small interface.
import type { Page } from "../../core/account-rows.ts";

export interface StoredRecord {
  readonly kind: string;
  readonly id: string;
  /** `acct:<id>` of the owner; null where it has none. */
  readonly payer: string | null;
  readonly version: number;
  /** Text, usually JSON. */
  readonly value: string;
  readonly createdAtMs: number;
  /** Null: kept until deleted. Afterwards no reader sees the record, swept or not. */
  readonly expiresAtMs: number | null;
}

export interface PutRecord extends Pick<StoredRecord, "kind" | "id" | "payer" | "value"> {
  readonly ttlMs: number | null;
  /** Puts only if the stored version equals this; 0: only if there is none. Null: unconditionally. */
  readonly ifVersion: number | null;
  /** The caller can wait some milliseconds to share a commit. */
  readonly isPatient?: true;
  /** For a record that is put once and has a payer and a time to live. It appears in no list. */
  readonly share?: Share;
}

/** The limit for a payer's records of one kind that are put with it. */
export interface Share {
  readonly bytesMax: number;
  /** What happens when it is full: the oldest are deleted, or the new one is refused. */
  readonly full: "oldest_leave" | "newest_stays_out";
}

/** A record's size in its share: its value, plus the approximate overhead of a record. */
export function sharedBytes(value: string): number {
  return Buffer.byteLength(value) + 512;
}

export interface Records {
  get(kind: string, id: string): Promise<StoredRecord | null>;
  /** The byte lengths of the values, without reading them, in order; null: not found. */
  sizes(kind: string, ids: readonly string[]): Promise<readonly (number | null)[]>;
  /** The new version; null if `ifVersion` did not match or the share is full. */
  put(record: PutRecord): Promise<number | null>;
  delete(kind: string, id: string): Promise<boolean>;
  /** A payer's records of a kind, newest first. */
  list(kind: string, payer: string, limit: number, cursor: string | null): Promise<RecordPage>;
  /** Removes up to `countMax` expired records; returns how many. */
  sweep(countMax: number): Promise<number>;
}

export type RecordPage = Page<StoredRecord>;

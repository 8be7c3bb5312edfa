// Everything kept that is not money: jobs, files, ownership of vendor ids, stored answers. One small interface.

/** A kept row. `version` grows by one with every put. */
export interface StoredRecord {
  readonly kind: string;
  readonly id: string;
  /** `acct:<id>` of the owner; null where it has no owner. */
  readonly payer: string | null;
  readonly version: number;
  /** Text, JSON as a rule. */
  readonly value: string;
  readonly createdAtMs: number;
  /** Null: kept until deleted. Past it the record is gone for every reader, swept or not. */
  readonly expiresAtMs: number | null;
}

export interface PutRecord {
  readonly kind: string;
  readonly id: string;
  readonly payer: string | null;
  readonly value: string;
  readonly ttlMs: number | null;
  /** Put only where the stored version is this: 0 for "not there yet". Null: whatever it is. */
  readonly ifVersion: number | null;
  /** Who puts it has some milliseconds, and would rather be written with others than alone. */
  readonly isPatient?: true;
  /** Of a record that is put once, has a payer and a time to live. It stands in no list. */
  readonly share?: Share;
}

/** What a payer's records of one kind that are put under it may have together. */
export interface Share {
  readonly bytesMax: number;
  /** Who gives way where it is full: those that were put first, or the one that comes. */
  readonly full: "oldest_leave" | "newest_stays_out";
}

/** What a record counts in its share: its value, and about what any record takes beside it. */
export function sharedBytes(value: string): number {
  return Buffer.byteLength(value) + 512;
}

export interface Records {
  get(kind: string, id: string): Promise<StoredRecord | null>;
  /** How many bytes each one's value has, without reading it, in this order; null: it is not there. */
  sizes(kind: string, ids: readonly string[]): Promise<readonly (number | null)[]>;
  /** The new version, or null where `ifVersion` did not match, or the share has no room. */
  put(record: PutRecord): Promise<number | null>;
  delete(kind: string, id: string): Promise<boolean>;
  /** A payer's records of a kind, newest first. */
  list(kind: string, payer: string, limit: number, cursor: string | null): Promise<RecordPage>;
  /** Removes up to `countMax` expired records; answers how many. */
  sweep(countMax: number): Promise<number>;
}

export interface RecordPage {
  readonly rows: readonly StoredRecord[];
  readonly next: string | null;
}

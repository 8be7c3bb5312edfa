// Everything kept that is not money: jobs, files, ownership of vendor ids, stored answers. One small interface.

/** A kept row. `version` grows by one with every put. */
export interface StoredRecord {
  readonly kind: string;
  readonly id: string;
  /** `acct:<id>` of the owner; null where nobody owns it. */
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
}

export interface Records {
  get(kind: string, id: string): Promise<StoredRecord | null>;
  /** The new version, or null where `ifVersion` did not match. */
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

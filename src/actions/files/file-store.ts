// The interface of the stores that hold files' bytes.

/** The first and last byte, both inclusive. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** What a link must say about the file when it is opened. */
export interface LinkedFile {
  readonly filename: string;
  readonly mime: string | null;
}

/** Links into the store itself, so that bytes do not pass through the gateway. */
export interface StoreLinks {
  /** Accepts a PUT of exactly `sizeBytes` until the link expires. */
  put(id: string, sizeBytes: number, secondsMax: number): Promise<string>;
  get(id: string, file: LinkedFile, secondsMax: number): Promise<string>;
  /** How long after the link's expiry an upload that began earlier may still complete. */
  readonly lateMsMax: number;
}

export interface FileStore {
  /** Stores all of `bytes` or nothing, and returns their number. Rejects with what `bytes` throws, or with `storage_unavailable`. */
  write(id: string, bytes: AsyncIterable<Uint8Array>, sizeBytes: number | null): Promise<number>;
  sizeOf(id: string): Promise<number | null>;
  /** The bytes, as a single-use iterator; a range must lie within them. Null where there is no such file. */
  read(id: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null>;
  /** Idempotent: succeeds where there is no such file. */
  delete(id: string): Promise<void>;
  /** Null: bytes pass through the gateway. */
  readonly links: StoreLinks | null;
}

// Where the bytes of files lie: what every store of them must do, whatever keeps it.

/** First and last byte, both counted in. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** What a link is to say of the file when it is opened. */
export interface LinkedFile {
  readonly filename: string;
  readonly mime: string | null;
}

/** Links that lead to the store itself, so that bytes need not pass through us. */
export interface StoreLinks {
  /** Takes a PUT of exactly `sizeBytes`, for as long as it lives. */
  put(id: string, sizeBytes: number, secondsMax: number): Promise<string>;
  get(id: string, file: LinkedFile, secondsMax: number): Promise<string>;
  /** How long after its link has lapsed an upload that had begun may still come to its end. */
  readonly lateMsMax: number;
}

export interface FileStore {
  /**
   * Keeps what `bytes` gives, whole or not at all, in place of what was there, and answers how much it was. `sizeBytes` is null
   * where that is not known beforehand. Rejects with what `bytes` throws, or with `storage_unavailable`.
   */
  write(id: string, bytes: AsyncIterable<Uint8Array>, sizeBytes: number | null): Promise<number>;
  /** Null: there is nothing of that id. */
  sizeOf(id: string): Promise<number | null>;
  /** The bytes, as a single-use iterator; a range must lie within them. Null: there is nothing of that id. */
  read(id: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null>;
  /** Nothing of that id is there afterwards, whether it was before or not. */
  delete(id: string): Promise<void>;
  /** Null: bytes come and go through us. */
  readonly links: StoreLinks | null;
}

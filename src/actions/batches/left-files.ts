// What batches leave at their providers, inputs and answers: deleted there once a batch has ended, however it ended. Payment never waits for
// that.
import { type Cleanup, type CleanupBook, type CleanupKind, enter } from "../../platform/records/cleanups.ts";
import type { Records } from "../../platform/records/records.ts";
import { VendorFailure } from "../../upstream/vendor-failure.ts";
import type { NativeProgress } from "./batch-record.ts";
import type { BatchVendors } from "./native-batch.ts";

const FIRST_MS = 15_000;
const PAUSE_MS_MAX = 3_600_000;
/** About four days. */
const TRIES_MAX = 100;

interface LeftFile extends Cleanup, Pick<NativeProgress, "vendor" | "keyName"> {
  readonly sandbox: boolean;
  /** Below the provider's origin. */
  readonly path: string;
}

/** A batch that was only taken for ours is not deleted. */
function pathsOf({ batches, answers }: NativeProgress): readonly string[] {
  return (batches ?? []).flatMap(({ fileId, isSure, end }) => {
    const outputs = isSure || answers !== null ? (end?.outputs ?? []) : [];
    // The last segment names the content of a file, or the results of a batch.
    const made = outputs.map((path) => path.slice(0, path.lastIndexOf("/")));
    return fileId === null ? made : [`/files/${encodeURIComponent(fileId)}`, ...made];
  });
}

export class LeftFiles implements CleanupKind<LeftFile> {
  readonly book: CleanupBook = { kind: "batch-file-left", ttlMs: null, listOf: () => "batch-files-left" };
  readonly #records: Records;
  readonly #vendors: Pick<BatchVendors, "open">;

  constructor(records: Records, vendors: Pick<BatchVendors, "open">) {
    this.#records = records;
    this.#vendors = vendors;
  }

  /** Once this resolves, the files are deleted even if this process dies. */
  async add(native: NativeProgress, sandbox: boolean, endsAtMs: number): Promise<void> {
    const { vendor, keyName } = native;
    for (const path of pathsOf(native)) {
      const left: LeftFile = { vendor, keyName, sandbox, path, label: `req_${path.slice(1)}`, endsAtMs };
      await enter(this.#records, this.book, vendor + path, left);
    }
  }

  readonly pauseMs = (tries: number) => Math.min(FIRST_MS * 2 ** Math.min(tries, 10), PAUSE_MS_MAX);

  readonly end = async ({ vendor, sandbox, keyName, path, label, tries = 0 }: LeftFile): Promise<boolean> => {
    if (tries >= TRIES_MAX) return true;
    try {
      const { api, client } = this.#vendors.open(vendor, sandbox, { keyName, requestId: label, sandboxFault: null });
      if (api.deletes === true) (await client.stream({ method: "DELETE", path })).destroy();
      return true;
    } catch (error) {
      // The provider has deleted it already. Anything else is reported, and tried again.
      if (error instanceof VendorFailure && error.failure.status === 404) return true;
      throw error;
    }
  };
}

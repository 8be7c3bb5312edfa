// Boxes to close: the next process that looks retries each until the vendor confirms, so that no box runs unpaid.
import { type Cleanup, type CleanupBook, type CleanupKind, enter } from "../../platform/records/cleanups.ts";
import type { SessionsDeps } from "./deps.ts";
import type { SessionRecord } from "./session-record.ts";
import type { SessionVendor } from "./vendor.ts";

const FIRST_MS = 15_000;
const PAUSE_MS_MAX = 600_000;
/** A slow vendor may still be creating the box. */
const MAKING_MS_MAX = 600_000;

/** Entries never expire: they are few, and share one list. */
export const UNCLOSED: CleanupBook = { kind: "unclosed-box", ttlMs: null, listOf: () => "unclosed-boxes" };

type OpenBox = SessionRecord & Cleanup;

export class BoxCleanups implements CleanupKind<OpenBox> {
  readonly book = UNCLOSED;
  readonly #deps: SessionsDeps;
  readonly #vendor: SessionVendor;

  constructor(deps: SessionsDeps, vendor: SessionVendor) {
    this.#deps = deps;
    this.#vendor = vendor;
  }

  /** Ensures that the box is closed, even if this process dies. */
  async add(jobId: string, session: SessionRecord): Promise<void> {
    const endsAtMs = Math.floor(this.#deps.clock.epochMs());
    await enter(this.#deps.records, UNCLOSED, jobId, { ...session, endsAtMs, nextMs: endsAtMs + FIRST_MS });
  }

  /** Tries once, now. Never rejects. */
  async close(jobId: string, session: SessionRecord, signal: AbortSignal): Promise<void> {
    const { records, onBroken } = this.#deps;
    if (!(await this.#isClosed(jobId, session, signal))) return;
    await records.delete(UNCLOSED.kind, jobId).catch((error: unknown) => onBroken(error, jobId));
  }

  readonly pauseMs = (tries: number) => Math.min(FIRST_MS * 2 ** Math.min(tries, 10), PAUSE_MS_MAX);

  readonly end = async (unclosed: OpenBox, jobId: string): Promise<boolean> => {
    const isMaking = unclosed.box === null && this.#deps.clock.epochMs() - unclosed.endsAtMs < MAKING_MS_MAX;
    return (await this.#isClosed(jobId, unclosed, new AbortController().signal)) && !isMaking;
  };

  /** Whether the vendor confirms that it is closed. The alarm reports a vendor that does not answer. */
  async #isClosed(jobId: string, { adapterId, sandbox, box, label }: SessionRecord, signal: AbortSignal) {
    const adapter = this.#deps.adapter(adapterId, sandbox);
    if (adapter === null) return false;
    const asking = { adapter, requestId: jobId.replace(/^job_/, "req_"), sandboxFault: null, signal };
    try {
      await (box === null ? this.#vendor.closeLabelled(asking, label) : this.#vendor.close(asking, box));
      return true;
    } catch {
      return false;
    }
  }
}

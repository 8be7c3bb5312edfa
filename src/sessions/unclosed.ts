// Boxes that are to be closed: each is asked for until its vendor says that it is, by whichever process looks next, so that nothing runs unpaid.
import type { Clock } from "../clock.ts";
import type { StoredRecord } from "../records/records.ts";
import type { SessionsDeps } from "./deps.ts";
import type { SessionRecord } from "./session-record.ts";
import type { SessionVendor } from "./vendor.ts";

const KIND = "unclosed-box";
const LIST = "unclosed-boxes";
const PAGE = 500;
const FIRST_MS = 15_000;
const PAUSE_MS_MAX = 600_000;
/** A vendor that is slow with a create may have made its box only now. */
const MAKING_MS_MAX = 600_000;
const AT_ONCE = 16;

interface Unclosed extends SessionRecord {
  readonly sinceMs: number;
  /** It is left alone until then. */
  readonly nextMs: number;
  readonly tries: number;
}

export interface UnclosedSeen {
  readonly count: number;
  /** 0 where there is none. */
  readonly oldestMs: number;
}

export class UnclosedBoxes {
  readonly #deps: SessionsDeps;
  readonly #vendor: SessionVendor;
  #seen: { readonly count: number; readonly oldestAtMs: number | null } = { count: 0, oldestAtMs: null };

  constructor(deps: SessionsDeps, vendor: SessionVendor) {
    this.#deps = deps;
    this.#vendor = vendor;
  }

  /** From here on it is closed, whichever process dies. */
  async add(jobId: string, session: SessionRecord): Promise<void> {
    const nowMs = this.#nowMs();
    const unclosed: Unclosed = { ...session, sinceMs: nowMs, nextMs: nowMs + FIRST_MS, tries: 0 };
    await this.#put(jobId, unclosed, null);
  }

  /** Tries it now. True: it is closed. Never rejects for what the vendor says. */
  async close(jobId: string, session: SessionRecord, signal = new AbortController().signal): Promise<boolean> {
    const { onBroken, records, adapter: adapterOf } = this.#deps;
    const adapter = adapterOf(session.adapterId, session.sandbox);
    if (adapter === null) return false;
    const asking = { adapter, requestId: jobId.replace(/^job_/, "req_"), sandboxFault: null, signal };
    try {
      if (session.box === null) await this.#vendor.closeLabelled(asking, session.label);
      else await this.#vendor.close(asking, session.box);
    } catch {
      // It is asked again, and the alarm tells of one that never answers.
      return false;
    }
    try {
      await records.delete(KIND, jobId);
    } catch (error) {
      onBroken(error, jobId);
    }
    return true;
  }

  /** Goes once over all that are due. Rejects where the store is away. */
  async sweep(): Promise<void> {
    const { records } = this.#deps;
    let [count, oldestAtMs]: [number, number | null] = [0, null];
    let cursor: string | null = null;
    do {
      const page = await records.list(KIND, LIST, PAGE, cursor);
      for (let at = 0; at < page.rows.length; at += AT_ONCE) {
        const left = await Promise.all(page.rows.slice(at, at + AT_ONCE).map((row) => this.#look(row)));
        for (const sinceMs of left) {
          if (sinceMs === null) continue;
          count += 1;
          oldestAtMs = Math.min(oldestAtMs ?? sinceMs, sinceMs);
        }
      }
      cursor = page.next;
    } while (cursor !== null);
    this.#seen = { count, oldestAtMs };
  }

  /** As the last sweep left it. */
  seen(): UnclosedSeen {
    const { count, oldestAtMs } = this.#seen;
    return { count, oldestMs: oldestAtMs === null ? 0 : Math.max(0, this.#nowMs() - oldestAtMs) };
  }

  /** Since when it is unclosed; null: it is closed. */
  async #look({ id, value, version }: StoredRecord): Promise<number | null> {
    const unclosed = JSON.parse(value) as Unclosed;
    const nowMs = this.#nowMs();
    if (unclosed.nextMs > nowMs) return unclosed.sinceMs;
    const tries = unclosed.tries + 1;
    const nextMs = nowMs + Math.min(FIRST_MS * 2 ** Math.min(tries, 10), PAUSE_MS_MAX);
    // The process that puts this version first asks now.
    if ((await this.#put(id, { ...unclosed, tries, nextMs }, version)) === null) return unclosed.sinceMs;
    const isMaking = unclosed.box === null && nowMs - unclosed.sinceMs < MAKING_MS_MAX;
    const isClosed = await this.close(id, unclosed);
    if (!isClosed || !isMaking) return isClosed ? null : unclosed.sinceMs;
    await this.#put(id, { ...unclosed, tries, nextMs }, null);
    return null;
  }

  #put(id: string, unclosed: Unclosed, ifVersion: number | null): Promise<number | null> {
    const value = JSON.stringify(unclosed);
    return this.#deps.records.put({ kind: KIND, id, payer: LIST, value, ttlMs: null, ifVersion });
  }

  #nowMs(): number {
    const { clock }: { clock: Clock } = this.#deps;
    return Math.floor(clock.epochMs());
  }
}

// Ends machines when their paid time is over or their answer was lost, and meters what vendors charge besides the time.
import type { Catalog } from "../../catalog/catalog.ts";
import type { PrepaidSpec } from "../../catalog/prepaid.ts";
import { nanoFromCents } from "../../core/money.ts";
import { type Cleanup, type CleanupKind, enter } from "../../platform/records/cleanups.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { VendorFailure } from "../../upstream/vendor-failure.ts";
import { countTaken, METER_MS, type MeterDeps } from "./prepaid-session-meter.ts";
import {
  type Entry,
  endPrepaid,
  entryId,
  findPrepaid,
  keepPrepaid,
  PREPAID_SESSIONS,
  type PrepaidSession,
  putPrepaid,
  type StoredPrepaidSession,
} from "./prepaid-session-records.ts";
import { leavePlace } from "./prepaid-session-slots.ts";

/** No process repeats a request to end a machine sooner than this. */
const TELL_AGAIN_MS = 30_000;
const ASK_MS_MAX = 30_000;
/** How long after the end we keep trying to read the meter. */
const READ_MS_MAX = 3_600_000;
const TRIES_MAX = 5;
/** Statuses with which a vendor says that the machine does not exist, or no longer. */
const GONE = [404, 410];

export interface SessionCleanupDeps extends MeterDeps {
  readonly upstream: Pick<Upstream, "vendorScript">;
  readonly catalog: () => Catalog;
  readonly onBroken: (error: unknown, label: string) => void;
}

function isGone(error: unknown): boolean {
  return error instanceof VendorFailure && GONE.includes(error.failure.status);
}

class SessionCleanups implements CleanupKind<Entry> {
  readonly book = PREPAID_SESSIONS;
  readonly #deps: SessionCleanupDeps;

  constructor(deps: SessionCleanupDeps) {
    this.#deps = deps;
  }

  readonly pauseMs = () => TELL_AGAIN_MS;

  readonly end = (entry: Entry): Promise<boolean> => (entry.isMeter === true ? this.#read(entry) : this.#end(entry));

  /** Ends a machine whose time is over. Rejects where the vendor did not confirm it. */
  async #end(entry: Cleanup): Promise<boolean> {
    const ending = await this.#toEnd(entry);
    if (ending === null) return true;
    const { time } = ending;
    const { id, label } = time;
    await this.#ask(time, "end", (script, context) =>
      id === null ? script.closeLabelled(context, label) : script.close(context, id),
    ).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
    await leavePlace(time, this.#deps);
    await endPrepaid(this.#deps.records, ending);
    return true;
  }

  /** Marks it as ending, so that a later extension is refused. Null where it has ended already, or ends at another time. */
  async #toEnd({ label, endsAtMs }: Cleanup): Promise<StoredPrepaidSession | null> {
    const { records } = this.#deps;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const stored = await findPrepaid(records, label);
      if (stored === null || stored.time.state === "ended" || stored.time.endsAtMs !== endsAtMs) return null;
      const time: PrepaidSession = { ...stored.time, state: "ending" };
      if (await keepPrepaid(records, time, stored.version)) return { time, version: stored.version + 1 };
    }
    throw new Error(`${label} is changed all the time`);
  }

  /** Reads the meter until it was read once after the end. Cuts off a machine whose account reached its daily bound on unpaid cost. */
  async #read(entry: Entry): Promise<boolean> {
    const { records, clock } = this.#deps;
    const stored = await findPrepaid(records, entry.label);
    if (stored === null || stored.time.meter === undefined || stored.time.id === null) return true;
    const hasEnded = stored.time.state === "ended";
    const metered = await this.#count(stored).catch((error: unknown) => {
      if (isGone(error)) return "counted" as const;
      this.#deps.onBroken(error, entry.label);
      return "later" as const;
    });
    if (metered === "at_bound" && !hasEnded) await this.#cutShort(entry.label);
    const isGivenUp = hasEnded && clock.epochMs() > stored.time.endsAtMs + READ_MS_MAX;
    if (isGivenUp || (hasEnded && metered !== "later")) return true;
    // All processes compute the same minute, so that the calendar gets one entry rather than one per process.
    const passed = Math.max(1, Math.ceil((clock.epochMs() - entry.endsAtMs) / METER_MS));
    const again: Entry = { label: entry.label, isMeter: true, endsAtMs: entry.endsAtMs + passed * METER_MS };
    await enter(records, PREPAID_SESSIONS, entryId(again), again);
    return true;
  }

  async #count(stored: StoredPrepaidSession) {
    const cents = await this.#ask(stored.time, "meter", async ({ takenCents }, context) => {
      return (await takenCents?.(context, String(stored.time.id))) ?? null;
    });
    return cents === null ? "later" : countTaken(stored, nanoFromCents(cents), this.#deps);
  }

  async #cutShort(label: string): Promise<void> {
    const { records, clock } = this.#deps;
    const stored = await findPrepaid(records, label);
    if (stored === null || stored.time.state === "ended") return;
    await putPrepaid(records, { ...stored.time, endsAtMs: Math.floor(clock.epochMs()) }, stored.version);
  }

  /** Runs one of the adapter's scripts. Throws VendorFailure as well. */
  async #ask<T>(
    { label, adapter: id, payer }: PrepaidSession,
    what: "end" | "meter",
    script: (prepaid: PrepaidSpec, context: Parameters<PrepaidSpec["close"]>[0]) => Promise<T>,
  ): Promise<T> {
    const { upstream, catalog } = this.#deps;
    const adapter = catalog().adapters(payer).get(id);
    const prepaid = adapter?.spec.prepaid;
    if (adapter === undefined || prepaid === undefined) throw new Error(`nothing ends the machines of ${id}`);
    // The sandbox knows these requests by the action that ends a machine.
    const [name = what] =
      Object.entries(adapter.spec.actions ?? {}).find(([, one]) => one.prepaid?.does === "ends") ?? [];
    const order = { adapter, name, requestId: `req_${what}_${label}`, msMax: ASK_MS_MAX, sandboxFault: null };
    const { signal } = new AbortController();
    return upstream.vendorScript((context) => script(prepaid, context), { ...order, signal });
  }
}

export function prepaidSessionCleanups(deps: SessionCleanupDeps): CleanupKind<Entry> {
  return new SessionCleanups(deps);
}

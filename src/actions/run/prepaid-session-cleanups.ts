// Ends machines when their paid time is over or their answer was lost, and meters what vendors charge besides the time.
import type { Catalog } from "../../catalog/catalog.ts";
import type { PrepaidSpec } from "../../catalog/prepaid.ts";
import { nanoFromCents } from "../../core/money.ts";
import type { Cleanup, CleanupKind } from "../../platform/records/cleanups.ts";
import type { Records } from "../../platform/records/records.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { VendorFailure } from "../../upstream/vendor-failure.ts";
import { countTaken, leavePlace, METER_MS, type MeterDeps, type Metered } from "./prepaid-session-holds.ts";
import { type Entry, PREPAID_SESSIONS, PrepaidRecords, type PrepaidSession } from "./prepaid-session-records.ts";

/** No process repeats a request to end a machine sooner than this. */
const TELL_AGAIN_MS = 30_000;
const ASK_MS_MAX = 30_000;
/** How long after the end we keep trying to read the meter. */
const READ_MS_MAX = 3_600_000;
/** Statuses with which a vendor says that the machine does not exist, or no longer. */
const GONE = [404, 410];

export interface SessionCleanupDeps extends MeterDeps {
  readonly records: Records;
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
  readonly #records: PrepaidRecords;

  constructor(deps: SessionCleanupDeps) {
    this.#deps = deps;
    this.#records = new PrepaidRecords(deps.records);
  }

  readonly pauseMs = () => TELL_AGAIN_MS;

  readonly end = async (entry: Entry): Promise<boolean> => {
    await (entry.isMeter === true ? this.#read(entry) : this.#end(entry));
    return true;
  };

  /** Ends a machine whose time is over. Rejects where the vendor did not confirm it. */
  async #end({ label, endsAtMs }: Cleanup): Promise<void> {
    // First marked, so that a later extension is refused. Null where it has ended already, or ends at another time.
    const ending = await this.#records.change(label, (time) =>
      time === null || time.state === "ended" || time.endsAtMs !== endsAtMs ? null : { ...time, state: "ending" },
    );
    if (ending === null) return;
    const { id } = ending;
    await this.#ask(ending, "end", (script, context) =>
      id === null ? script.closeLabelled(context, label) : script.close(context, id),
    ).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
    await leavePlace(ending, this.#deps);
    await this.#records.change(label, (time) => ({ ...(time ?? ending), state: "ended" }));
  }

  /** Reads the meter until it was read once after the end. Cuts off a machine whose account reached its daily bound on unpaid cost. */
  async #read({ label, endsAtMs }: Entry): Promise<void> {
    const { clock, onBroken } = this.#deps;
    const time = await this.#records.find(label);
    if (time === null || time.meter === undefined || time.id === null) return;
    const hasEnded = time.state === "ended";
    const metered = await this.#count(time, time.id).catch((error: unknown): Metered => {
      onBroken(error, label);
      return "later";
    });
    const nowMs = Math.floor(clock.epochMs());
    if (metered === "at_bound" && !hasEnded)
      await this.#records.change(label, (now) =>
        now === null || now.state === "ended" ? null : { ...now, endsAtMs: nowMs },
      );
    const isGivenUp = hasEnded && nowMs > time.endsAtMs + READ_MS_MAX;
    if (isGivenUp || (hasEnded && metered !== "later")) return;
    // All processes compute the same minute, so that the calendar gets one entry rather than one per process.
    const passed = Math.max(1, Math.ceil((clock.epochMs() - endsAtMs) / METER_MS));
    await this.#records.enter({ label, isMeter: true, endsAtMs: endsAtMs + passed * METER_MS });
  }

  async #count(time: PrepaidSession, id: string): Promise<Metered> {
    const read = this.#ask(time, "meter", async (script, context) => script.takenCents?.(context, id) ?? null);
    const cents = await read.catch((error: unknown) => {
      if (isGone(error)) return 0;
      this.#deps.onBroken(error, time.label);
      return null;
    });
    // A pending step is counted even where the meter cannot be read.
    const metered = await countTaken(time.label, nanoFromCents(cents ?? 0), { ...this.#deps, records: this.#records });
    return cents === null ? "later" : metered;
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

// Ends machines whose paid time is over, and those whose makers' answers were lost: by the calendar, in whichever process looks first.
import type { ActionSpec } from "../catalog/action.ts";
import type { ActionOffer, Catalog } from "../catalog/catalog.ts";
import { nanoFromCents } from "../money.ts";
import type { AttemptFailure } from "../route.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { VendorFailure } from "../upstream/vendor-failure.ts";
import { countTaken, METER_MS, type MeterDeps } from "./paid-time-meter.ts";
import { leavePlace } from "./paid-time-places.ts";
import {
  type Entry,
  endPaidTime,
  enter,
  entriesOn,
  findPaidTime,
  PAGE_MS,
  type PaidTime,
  pageOf,
  putPaidTime,
  type StoredPaidTime,
  strike,
} from "./paid-time-records.ts";

const LOOK_MS = 5_000;
/** As many pages are read again at a start and then this often: what others have left is on them. */
const BACK_PAGES = (8 * 3_600_000) / PAGE_MS;
const BACK_EVERY_MS = 10 * 60_000;
/** A vendor that has been told is not told again sooner, by any process. */
const TELL_AGAIN_MS = 30_000;
const ASK_MS_MAX = 30_000;
/** For so long after the end it is tried to read what was taken. */
const READ_MS_MAX = 3_600_000;
const AT_ONCE = 8;
/** With these a vendor says that there is no such machine, or none any more. */
const GONE = [404, 410];

export interface PaidTimeEnderOptions extends MeterDeps {
  readonly upstream: Pick<Upstream, "actionCandidate" | "vendorScript">;
  readonly catalog: () => Catalog;
  readonly onBroken: (error: unknown, label: string) => void;
}

export interface PaidTimeEnder {
  start(): void;
  stop(): Promise<void>;
  /** Looks now. `isWhole`: at all pages, as at a start. */
  look(isWhole: boolean): Promise<void>;
}

/** The action of an adapter that ends such machines, and what it says of them. */
function endingOf(
  catalog: Catalog,
  { adapter, payer }: PaidTime,
): { readonly offer: ActionOffer; readonly id: string } {
  const spec = catalog.adapters(payer).get(adapter)?.spec;
  for (const [name, { prepaid }] of Object.entries(spec?.actions ?? {})) {
    const offer = prepaid?.does === "ends" ? catalog.action(`${adapter}/${name}`, payer)?.offers[0] : undefined;
    if (prepaid?.does === "ends" && offer !== undefined) return { offer, id: prepaid.id };
  }
  throw new Error(`nothing ends the machines of ${adapter}`);
}

/** The action as it is asked of one whose id is not known. */
function byLabel({ spec, adapter }: ActionOffer, label: string): ActionSpec {
  const { issues, content, ...rest } = spec;
  const { prepaid } = adapter.spec;
  return {
    ...rest,
    async run(context) {
      await prepaid?.endLabelled(context, label);
      return {};
    },
  };
}

class Ender implements PaidTimeEnder {
  readonly #options: PaidTimeEnderOptions;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #wholeAtMs = Number.NEGATIVE_INFINITY;
  /** Pages on which something is still to be done. */
  #open = new Set<number>();
  #isStopped = false;

  constructor(options: PaidTimeEnderOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, onBroken } = this.#options;
    const look = () => {
      const isWhole = clock.elapsedMs() - this.#wholeAtMs > BACK_EVERY_MS;
      void this.look(isWhole).catch((error: unknown) => onBroken(error, ""));
    };
    this.#timer = setInterval(look, LOOK_MS);
    this.#timer.unref();
    look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#looking?.catch(() => {});
  }

  look(isWhole: boolean): Promise<void> {
    this.#looking ??= this.#look(isWhole).finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(isWhole: boolean): Promise<void> {
    const { clock } = this.#options;
    const now = pageOf(clock.epochMs());
    const back = isWhole ? Array.from({ length: BACK_PAGES }, (_, at) => now - BACK_PAGES + 1 + at) : [now - 1, now];
    const pages = [...new Set([...this.#open, ...back])].filter((page) => page > now - BACK_PAGES);
    if (isWhole) this.#wholeAtMs = clock.elapsedMs();
    this.#open = new Set();
    for (const page of pages) {
      const nowMs = clock.epochMs();
      const due = (await entriesOn(this.#options.records, page)).filter(({ endsAtMs }) => endsAtMs <= nowMs);
      for (let at = 0; at < due.length && !this.#isStopped; at += AT_ONCE) {
        const some = due.slice(at, at + AT_ONCE);
        const look = (entry: Entry) => (entry.isMeter === true ? this.#read(entry) : this.#end(entry));
        const done = await Promise.all(some.map((entry) => look(entry).catch(this.#broken(entry.label))));
        if (done.includes(false)) this.#open.add(page);
      }
    }
  }

  #broken(label: string): (error: unknown) => boolean {
    return (error) => {
      this.#options.onBroken(error, label);
      return false;
    };
  }

  /** Ends one whose time is over. False: it has to be looked at again. */
  async #end(entry: Entry): Promise<boolean> {
    const { records, clock } = this.#options;
    const { label } = entry;
    const stored = await findPaidTime(records, label);
    if (stored === null || stored.time.state === "ended" || stored.time.endsAtMs !== entry.endsAtMs) {
      await strike(records, entry);
      return true;
    }
    const nowMs = Math.floor(clock.epochMs());
    const { time, version } = stored;
    if (nowMs - time.toldAtMs < TELL_AGAIN_MS) return false;
    // The process that puts this tells the vendor; an extension that comes later is refused.
    const ending: PaidTime = { ...time, state: "ending", toldAtMs: nowMs };
    if (!(await putPaidTime(records, ending, version))) return false;
    await this.#tell(ending);
    await leavePlace(ending, this.#options);
    await endPaidTime(records, { time: ending, version: version + 1 });
    await strike(records, entry);
    return true;
  }

  /**
   * Counts what the vendor has taken beside the time, and again in a minute, until it has been read once after the end. A machine whose
   * account may cost us no more today has no time left. True: whatever is still to be done stands further on in the calendar.
   */
  async #read(entry: Entry): Promise<boolean> {
    const { records, clock } = this.#options;
    const stored = await findPaidTime(records, entry.label);
    if (stored === null || stored.time.meter === undefined || stored.time.id === null) {
      await strike(records, entry);
      return true;
    }
    const hasEnded = stored.time.state === "ended";
    // At the same minutes for every process, so that one entry stands there and not one for each that has looked.
    const passed = Math.max(1, Math.ceil((clock.epochMs() - entry.endsAtMs) / METER_MS));
    const again = { ...entry, endsAtMs: entry.endsAtMs + passed * METER_MS };
    const metered = await this.#count(stored).catch((error: unknown) => {
      if (error instanceof VendorFailure && GONE.includes(error.failure.status)) return "counted" as const;
      this.#options.onBroken(error, entry.label);
      return "later" as const;
    });
    if (metered === "at_bound" && !hasEnded) await this.#cutShort(entry.label);
    const isGivenUp = hasEnded && clock.epochMs() > stored.time.endsAtMs + READ_MS_MAX;
    if (!isGivenUp && (!hasEnded || metered === "later")) await enter(records, again);
    await strike(records, entry);
    return true;
  }

  async #count(stored: StoredPaidTime) {
    const { upstream, catalog } = this.#options;
    const { label, adapter: id, payer } = stored.time;
    const adapter = catalog().adapters(payer).get(id);
    const takenCents = adapter?.spec.prepaid?.takenCents;
    if (adapter === undefined || takenCents === undefined) return "later";
    const order = { name: "meter", requestId: `req_meter_${label}`, msMax: ASK_MS_MAX, sandboxFault: null };
    const signal = new AbortController().signal;
    const cents = await upstream.vendorScript((context) => takenCents(context, String(stored.time.id)), {
      ...order,
      adapter,
      signal,
    });
    return countTaken(stored, nanoFromCents(cents), this.#options);
  }

  async #cutShort(label: string): Promise<void> {
    const { records, clock } = this.#options;
    const stored = await findPaidTime(records, label);
    if (stored === null || stored.time.state === "ended") return;
    const { time, version } = stored;
    await putPaidTime(records, { ...time, endsAtMs: Math.floor(clock.epochMs()) }, version);
  }

  /** Rejects where the vendor has not said that it has ended. */
  #tell(time: PaidTime): Promise<void> {
    const { upstream, catalog } = this.#options;
    const { label, id, payer } = time;
    const { offer, id: param } = endingOf(catalog(), time);
    const asked = id === null ? { ...offer, spec: byLabel(offer, label) } : offer;
    const candidate = upstream.actionCandidate(asked, {
      soldId: offer.id,
      params: { [param]: id ?? label },
      row: null,
      requestId: `req_end_${label}`,
      restore: (json) => json,
      preamble: null,
      sandbox: payer.sandbox ? { fault: null } : null,
    });
    return new Promise((resolve, reject) => {
      const failed = ({ kind, status, message }: AttemptFailure) => {
        if (GONE.includes(status)) return resolve();
        reject(new Error(`${offer.adapter.id} has not ended ${label}: ${kind}: ${message}`));
      };
      candidate.open({ content() {}, done: () => resolve(), failed }, ASK_MS_MAX);
    });
  }
}

/** Nothing is looked at before `start`. */
export function createPaidTimeEnder(options: PaidTimeEnderOptions): PaidTimeEnder {
  return new Ender(options);
}

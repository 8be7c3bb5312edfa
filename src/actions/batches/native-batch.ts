// Runs a batch by a provider's own batch API: holds the money, sends the lines, waits for the provider, and fetches its answers. Each step
// is stored before the next one, so that any process can continue. Paying for the answers is the batch's own work.

import type { BatchApi } from "../../catalog/batch-api.ts";
import { LeaseLost, type Stopped } from "../../catalog/job-kind.ts";
import { wholeOf } from "../../core/chunk-list.ts";
import { pause } from "../../core/clock.ts";
import { add } from "../../core/money.ts";
import { ownSlice } from "../../core/slices.ts";
import type { BatchClient, BatchClientOrder } from "../../upstream/batch-client.ts";
import type { BatchFormat, VendorInput } from "../../upstream/batch-formats.ts";
import { VendorFailure } from "../../upstream/vendor-failure.ts";
import type { Segment } from "../files/batch-files.ts";
import type { BatchRun } from "./batch-kind.ts";
import type { NativeProgress, VendorBatch } from "./batch-record.ts";
import { linesIn } from "./jsonl.ts";
import type { LineIndex } from "./line-index.ts";
import { NativeAnswers, Places, readAnswer, tagOf } from "./native-answers.ts";
import { InputWriter } from "./native-input.ts";

/** The providers' batch APIs. */
export interface BatchVendors {
  /** The price today, in percent of the usual one; null: it has no batch API. */
  percentOf(vendor: string, sandbox: boolean): number | null;
  /** Throws where the provider is not configured any more. */
  open(
    vendor: string,
    sandbox: boolean,
    order: BatchClientOrder,
  ): { readonly api: BatchApi; readonly format: BatchFormat; readonly client: BatchClient };
  /** How often to look at a batch at first. */
  readonly pollMs: number;
}

const FIRST_LOOK_MS = 2_000;
/** Looks become rarer, down to one in this many first intervals. */
const SLOWER_MAX = 6;
const SLOWER = 1.5;
/** A batch that is not in the list this many times was not created. */
const FINDS = 3;
/** A batch that the provider does not know this many times in a row is lost. */
const MISSES_MAX = 5;
/** How often answers that are not whole are fetched. */
const FETCHES_MAX = 5;
/** How long the provider may take to end a batch that has been cancelled or has expired. */
const LATE_MS_MAX = 3_600_000;
const LINES_A_SLICE = 16;

/** By line: whether it was run, and where its answer is. */
type Found = Map<number, { readonly isRun: boolean; readonly offset: number; readonly bytes: number }>;

const NOTHING = Buffer.alloc(0);
const LINE_BREAK = Buffer.from("\n");

/** Repeating the request would not help. */
function isRefusal({ failure: { status } }: VendorFailure): boolean {
  return status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
}

/** The end of a batch that has no answers. */
function notRun(status: "cancelled" | "failed", message: string | null): VendorBatch["end"] {
  return { status, message, outputs: [], answers: 0 };
}

export class NativeBatch {
  readonly #run: BatchRun;
  readonly #index: LineIndex;
  readonly #vendor: ReturnType<BatchVendors["open"]>;
  readonly #misses = new Map<string, number>();
  readonly #cancelled = new Set<string>();

  constructor(run: BatchRun, index: LineIndex) {
    const { job, deps } = run;
    this.#run = run;
    this.#index = index;
    const { vendor, keyName } = this.#native;
    const order = { keyName, requestId: `req_${job.id.slice(4)}`, sandboxFault: job.sandboxFault };
    this.#vendor = deps.vendors.open(vendor, job.payer.sandbox, order);
  }

  get #native(): NativeProgress {
    const { native } = this.#run.progress;
    if (native == null) throw new Error("the batch runs inline");
    return native;
  }

  get #batches(): readonly VendorBatch[] {
    return this.#native.batches ?? [];
  }

  #save(changes: Partial<NativeProgress>): Promise<void> {
    return this.#run.save({ native: { ...this.#native, ...changes } });
  }

  #change(at: number, changes: Partial<VendorBatch>): Promise<void> {
    const batches = this.#batches.map((batch, place) => (place === at ? { ...batch, ...changes } : batch));
    return this.#save({ batches, looks: this.#native.looks + 1 });
  }

  /** All answers, once they are here. */
  async answers(): Promise<NativeAnswers> {
    if (this.#native.batches === null) {
      await this.#hold();
      await this.#write();
    }
    while (this.#native.answers === null) {
      for (const at of this.#batches.keys()) await this.#send(at);
      await this.#poll();
      await this.#fetch();
    }
    const { places } = this.#native.answers;
    const { job, deps } = this.#run;
    const kept = await job.stored(() => wholeOf(deps.files.readAll([places])));
    return new NativeAnswers(this.#run, this.#native, this.#vendor.format, new Places(this.#index.count, kept));
  }

  /** Waits, unless this process no longer runs the batch. */
  async #wait(ms: number): Promise<void> {
    const { job } = this.#run;
    // After a cancellation the signal no longer wakes.
    await pause(ms, job.signal.aborted ? AbortSignal.any([]) : job.signal);
    if (this.#run.isLost) throw new LeaseLost();
  }

  #lookMs(looks: number): number {
    const { pollMs } = this.#run.deps.vendors;
    return looks === 0
      ? Math.min(FIRST_LOOK_MS, pollMs)
      : Math.min(pollMs * SLOWER ** (looks - 1), pollMs * SLOWER_MAX);
  }

  /** Holds for all lines, or as many as the money pays for: once it has them, the provider runs them whatever they cost. */
  async #hold(): Promise<void> {
    const run = this.#run;
    const { count } = this.#index;
    while (this.#native.heldTo < count && this.#native.stop === null && run.stop === null) {
      const { heldTo, heldNano } = this.#native;
      const held = await run.hold(this.#index, heldTo, heldNano);
      if (typeof held !== "string") await this.#save({ heldTo: held.to, heldNano: add(heldNano, held.boundNano) });
      else if (held === "no_money" || held === "max_cost") await this.#save({ stop: held });
      else await run.save({ stop: held });
    }
  }

  /** Writes the held lines as requests, in batches as the provider takes them. */
  async #write(): Promise<void> {
    const run = this.#run;
    const { job, deps, start, accountId, results } = run;
    const caller = await job.stored(() => deps.calls.callerOf(accountId, start.keyId));
    if (caller === null) await run.save({ stop: "key_revoked" });
    const writer = new InputWriter(run, this.#native.vendor, this.#vendor);
    if (caller !== null && run.stop === null) {
      for await (const ask of results.asks(this.#index, { from: 0, to: this.#native.heldTo, wanted: () => true })) {
        if (ask.at % LINES_A_SLICE === 0) await ownSlice();
        if (run.isLost) throw new LeaseLost();
        await writer.add(ask, caller);
      }
    }
    await writer.end(this.#index, this.#vendor.client.keyName);
  }

  #inputOf(at: number): VendorInput {
    const batch = this.#batches[at];
    if (batch === undefined) throw new Error("no such batch");
    const { path, headers, lines, bytes, input } = batch;
    const { deps, job } = this.#run;
    return { tag: tagOf(job.id, at), path, headers, lines, bytes, read: () => deps.files.readAll(input) };
  }

  /** Creates a batch at the provider once, however often answers get lost. */
  async #send(at: number): Promise<void> {
    const { format, client } = this.#vendor;
    const run = this.#run;
    const input = this.#inputOf(at);
    for (let tries = 1; ; tries++) {
      const batch = this.#batches[at];
      if (batch === undefined || batch.id !== null || batch.end !== null) return;
      try {
        if (batch.sentAtMs !== null) {
          const found = await this.#find(input, { sinceMs: batch.sentAtMs, foreign: batch.foreign });
          if (found !== null) return await this.#change(at, found);
        }
        if (run.stop !== null) return await this.#change(at, { end: notRun("cancelled", null) });
        const fileId = batch.fileId ?? (await format.upload(client, input));
        await this.#change(at, { fileId, sentAtMs: batch.sentAtMs ?? run.deps.clock.epochMs() });
        return await this.#change(at, { id: await format.create(client, input, fileId), isSure: true });
      } catch (error) {
        if (!(error instanceof VendorFailure)) throw error;
        if (isRefusal(error) || this.#isLate) return await this.#change(at, { end: notRun("failed", error.message) });
        await this.#wait(this.#lookMs(tries));
      }
    }
  }

  async #find(input: VendorInput, made: Parameters<BatchFormat["find"]>[2]) {
    const { format, client } = this.#vendor;
    for (let looks = 0; ; looks++) {
      const found = await format.find(client, input, made);
      if (found !== null || looks + 1 === FINDS) return found;
      await this.#wait(this.#lookMs(looks));
    }
  }

  /** Waits until the provider has ended all batches; ends them itself where the batch is stopped. */
  async #poll(): Promise<void> {
    const run = this.#run;
    for (let looks = 0; this.#batches.some(({ end }) => end === null); looks++) {
      await this.#wait(this.#lookMs(run.stop === null ? looks : Math.min(looks, 1)));
      const stop = run.stop === null ? await this.#standing() : null;
      if (stop !== null) await run.save({ stop });
      for (const at of this.#batches.keys()) await this.#look(at);
    }
  }

  /** Why no more work may be done for the payer; null: it may. An expired key's work continues. */
  async #standing(): Promise<Stopped | null> {
    const { job, deps, accountId, start } = this.#run;
    const caller = await job.stored(() => deps.calls.callerOf(accountId, start.keyId));
    if (caller === null) return "key_revoked";
    return caller.frozen ? "account_frozen" : caller.paused ? "key_paused" : null;
  }

  async #look(at: number): Promise<void> {
    const { format, client } = this.#vendor;
    const batch = this.#batches[at];
    if (batch === undefined || batch.end !== null || batch.id === null) return;
    const { id } = batch;
    try {
      if (this.#run.stop !== null && !this.#cancelled.has(id)) {
        this.#cancelled.add(id);
        // A batch that has just ended cannot be cancelled.
        await format.cancel(client, id).catch(() => {});
      }
      const state = await format.state(client, id);
      this.#misses.delete(id);
      if (state.status !== "running") return await this.#change(at, { end: state });
    } catch (error) {
      if (!(error instanceof VendorFailure)) throw error;
      const misses = error.failure.status === 404 ? (this.#misses.get(id) ?? 0) + 1 : 0;
      this.#misses.set(id, misses);
      if (misses >= MISSES_MAX) return await this.#change(at, { end: notRun("failed", "it lost the batch") });
    }
    if (this.#isLate) return this.#change(at, { end: notRun("failed", "it did not end the batch") });
    return this.#change(at, {});
  }

  get #isLate(): boolean {
    const { job, expiresAtMs, deps } = this.#run;
    return deps.clock.epochMs() > (job.cancelledAtMs ?? expiresAtMs) + LATE_MS_MAX;
  }

  /** Stores the answers and where each of them is. Where a batch was not ours, ours is still to be found. */
  async #fetch(): Promise<void> {
    const places = new Places(this.#index.count);
    const segments: Segment[] = [];
    let offset = 0;
    for (const [at, batch] of this.#batches.entries()) {
      const { found, segment } = await this.#answersOf(at);
      if (batch.id !== null && !batch.isSure && found.size === 0)
        return this.#change(at, { id: null, end: null, foreign: [...batch.foreign, batch.id] });
      for (const [line, one] of found) if (one.isRun) places.add(line, offset + one.offset, one.bytes);
      if (segment !== null) segments.push(segment);
      offset += segment?.bytes ?? 0;
    }
    const kept = await this.#run.results.write(async function* () {
      yield places.bytes();
    });
    await this.#save({ answers: { segments, places: kept } });
  }

  /** The answers of one batch; where the provider returns too few, as many as it has after some tries. */
  async #answersOf(at: number): Promise<{ readonly found: Found; readonly segment: Segment | null }> {
    const { deps, results } = this.#run;
    const { answers = 0 } = this.#batches[at]?.end ?? {};
    for (let tries = 1; ; tries++) {
      const found: Found = new Map();
      try {
        const segment = await results.write(() => this.#wholeLines(at, found));
        if (found.size >= answers || tries >= FETCHES_MAX) return { found, segment };
        await deps.files.dropSegment(segment.id).catch(() => {});
      } catch (error) {
        if (!(error instanceof VendorFailure)) throw error;
        const isGone = error.failure.status === 404 && tries >= FETCHES_MAX;
        if (isGone || this.#isLate) return { found: new Map(), segment: null };
      }
      await this.#wait(this.#lookMs(tries));
    }
  }

  /** Whole answers to lines of ours, each once; notes where they are. */
  async *#wholeLines(at: number, found: Found): AsyncGenerator<Uint8Array> {
    const { format, client } = this.#vendor;
    const tag = tagOf(this.#run.job.id, at);
    found.clear();
    let offset = 0;
    let read = 0;
    for (const path of this.#batches[at]?.end?.outputs ?? []) {
      for await (const line of linesIn(await client.stream({ method: "GET", path }))) {
        if (++read % LINES_A_SLICE === 0) await ownSlice();
        const bytes = line?.bytes ?? NOTHING;
        const answer = readAnswer(bytes, tag, format);
        // The rest of a batch that is not ours need not be read.
        if (answer === null && read === 1 && this.#batches[at]?.isSure === false) return;
        if (answer === null || answer.at >= this.#index.count || found.has(answer.at)) continue;
        found.set(answer.at, { isRun: answer.isRun, offset, bytes: bytes.length });
        offset += bytes.length + LINE_BREAK.length;
        yield bytes;
        yield LINE_BREAK;
      }
    }
  }
}

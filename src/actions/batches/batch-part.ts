// Runs the lines of one part, a few at a time, and stores each result before the part is paid for.
import { LeaseLost } from "../../catalog/job-kind.ts";
import { type Clock, pause } from "../../core/clock.ts";
import { getOrMake } from "../../core/maps.ts";
import { add, type Nano, ZERO } from "../../core/money.ts";
import { Places } from "../../core/places.ts";
import type { Caller } from "../../core/plan.ts";
import { ownSlice } from "../../core/slices.ts";
import { NO_USAGE, sumUsage } from "../../core/token-usage.ts";
import { Spend } from "../../kernel/parent-funds.ts";
import type { BatchRun } from "./batch-kind.ts";
import type { Part } from "./batch-record.ts";
import type { LineAsk } from "./jsonl.ts";
import { callerOfDone, type LineAnswer, LineFunds, summedLegs } from "./line-calls.ts";
import type { LineIndex } from "./line-index.ts";
import { answeredLine, isGood, type ResultLine } from "./result-lines.ts";

const ACCOUNT_LINES_AT_ONCE = 16;
const LINES_AT_ONCE = 64;
const INPUTS_AT_ONCE = 4;
/** Results wait this long for others to share a write. */
const STORE_MS = 250;
const WAITING_MAX = 128;
const WAITING_BYTES_MAX = 8 * 1024 * 1024;
/** How often a line is retried: where providers' limits are in the way, and after any other failure that may pass. */
const LIMITED_RETRIES_MAX = 12;
const RETRIES_MAX = 2;
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 60_000;
/** How long lines in flight may take once the batch stops. */
const STOP_MS_MAX = 20_000;
/** A longer turn of the event loop means that calls are waiting. */
const TURN_MS_MAX = 8;

/** The lines in memory at once of an account in all its batches, and the calls and inputs of this process. */
export class BatchPlaces {
  readonly #calls = new Places(LINES_AT_ONCE);
  readonly #inputs = new Places(INPUTS_AT_ONCE);
  readonly #own = new Map<string, { readonly places: Places; users: number }>();

  call<Result>(payer: string, work: () => Promise<Result>): Promise<Result> {
    return this.#calls.run(payer, work);
  }

  /** Reads a whole input. */
  input<Result>(payer: string, work: () => Promise<Result>): Promise<Result> {
    return this.#inputs.run(payer, work);
  }

  /** A line from its reading to its result: many batches that wait must not each keep long lines in memory. */
  async line<Result>(payer: string, work: () => Promise<Result>): Promise<Result> {
    const own = getOrMake(this.#own, payer, () => ({ places: new Places(ACCOUNT_LINES_AT_ONCE), users: 0 }));
    own.users += 1;
    try {
      return await own.places.run(payer, work);
    } finally {
      own.users -= 1;
      if (own.users === 0) this.#own.delete(payer);
    }
  }
}

/** A line that has ended. */
interface Done {
  readonly at: number;
  readonly line: ResultLine;
  readonly isFailed: boolean;
  readonly nano: Nano;
  readonly usage: LineFunds["usage"];
  readonly legs: LineFunds["legs"];
}

/** Waits for a turn of the event loop, and longer where the loop is busy with calls. */
async function giveWay(clock: Clock): Promise<void> {
  const fromMs = clock.elapsedMs();
  await ownSlice();
  const turnMs = clock.elapsedMs() - fromMs;
  if (turnMs > TURN_MS_MAX) await new Promise((resolve) => setTimeout(resolve, Math.min(4 * turnMs, STORE_MS)));
}

class PartRun {
  readonly #run: BatchRun;
  readonly #index: LineIndex;
  readonly #caller: Caller;
  readonly #spend: Spend;
  #waiting: Done[] = [];
  #waitingBytes = 0;
  #isOver = false;
  /** Wakes the writer, and the lanes that wait for it. */
  #change = Promise.withResolvers<void>();
  #failure: unknown = null;

  constructor(run: BatchRun, index: LineIndex, caller: Caller, part: Part) {
    this.#run = run;
    this.#index = index;
    this.#caller = caller;
    // Lines share what the part holds: those that cost less than their bounds leave room for a price that has risen since.
    this.#spend = new Spend(part.boundNano, "price", part.nano);
  }

  /** Runs what is left of the part. */
  async toEnd(part: Part): Promise<void> {
    const { results } = this.#run;
    const done = new Set(part.done);
    const wanted = (at: number) => !done.has(at) && this.#run.isDue(this.#index, at);
    const asks = results.asks(this.#index, { from: part.from, to: part.to, wanted });
    const lanes = Promise.all(Array.from({ length: ACCOUNT_LINES_AT_ONCE }, () => this.#lane(asks)));
    const ended = this.#orStopped(lanes)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => {
        this.#isOver = true;
        this.#changed();
      });
    await this.#store().catch((error: unknown) => {
      this.#failure ??= error;
      this.#isOver = true;
      this.#changed();
    });
    await ended;
    // Closes the input where lines are left.
    void asks.return(undefined).catch(() => {});
    if (this.#failure !== null) throw this.#failure;
  }

  get #isFull(): boolean {
    return this.#waiting.length >= WAITING_MAX || this.#waitingBytes >= WAITING_BYTES_MAX;
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers<void>();
  }

  /** Lines in flight when the batch stops have a while to end; what ends later is not charged. */
  async #orStopped(lanes: Promise<unknown>): Promise<void> {
    const { signal } = this.#run.job;
    const stopped = Promise.withResolvers<void>();
    let late: NodeJS.Timeout | undefined;
    const onStop = () => {
      // What a provider has done is paid for, however long that takes.
      if (this.#run.answers !== null && !this.#run.isLost) return;
      // A process that has lost the batch stores nothing more.
      const ms = this.#run.job.cancelledAtMs === null ? 0 : STOP_MS_MAX;
      late = setTimeout(() => stopped.resolve(), ms);
    };
    signal.addEventListener("abort", onStop, { once: true });
    if (signal.aborted) onStop();
    try {
      await Promise.race([lanes, stopped.promise]);
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", onStop);
    }
  }

  async #lane(asks: AsyncGenerator<LineAsk & { readonly at: number }>): Promise<void> {
    for (;;) {
      while (!this.#isOver && this.#isFull) await this.#change.promise;
      const { deps, job } = this.#run;
      const done = await deps.places.line(job.payer.id, async () => {
        if (this.#isOver || this.#run.stop !== null) return null;
        const next = await asks.next();
        return next.done === true ? null : this.#call(next.value);
      });
      if (done === null || this.#isOver) return;
      this.#waiting.push(done);
      this.#waitingBytes += done.line.text.length;
      this.#changed();
    }
  }

  /** Calls a line until it has an answer that a retry would not change. Null: the batch has stopped. */
  async #call({ at, customId, body }: LineAsk & { readonly at: number }): Promise<Done | null> {
    const { job, start, deps } = this.#run;
    const call = { path: start.endpoint, body, headers: start.headers, caller: this.#caller };
    const native = (await this.#run.answers?.of(at)) ?? null;
    let legs: LineFunds["legs"] = [];
    for (let retries = 0; ; retries++) {
      const funds = new LineFunds(this.#spend, native !== null);
      const answer = await deps.places.call(job.payer.id, async () => {
        await giveWay(deps.clock);
        return this.#run.stop === null ? deps.calls.run(call, funds, native) : null;
      });
      if (answer === null) return null;
      legs = summedLegs([...legs, ...funds.legs]);
      const isFailed = !isGood(answer);
      // A provider's answer is final, unless this gateway failed to read it.
      const isRead = native !== null && funds.legs.length > 0 && answer.status !== 0;
      if (isFailed && !isRead && mayPass(answer, retries)) {
        await pause(retryMs(answer, retries), job.signal);
        if (this.#isOver || this.#run.stop !== null) return null;
        continue;
      }
      const line = answeredLine(start, customId, answer);
      return isFailed
        ? { at, line, isFailed, legs, nano: ZERO, usage: null }
        : { at, line, isFailed, legs, nano: funds.chargedNano, usage: funds.usage };
    }
  }

  /** Stores results as they come, until the last. */
  async #store(): Promise<void> {
    const { clock } = this.#run.deps;
    for (let fromMs = clock.elapsedMs(); ; ) {
      if (this.#waiting.length === 0) {
        if (this.#isOver) return;
        await this.#change.promise;
        if (this.#waiting.length <= 1) fromMs = clock.elapsedMs();
        continue;
      }
      const leftMs = fromMs + STORE_MS - clock.elapsedMs();
      if (!this.#isOver && leftMs > 0 && this.#waiting.length < WAITING_MAX / 2) {
        const tick = Promise.withResolvers<void>();
        const timer = setTimeout(tick.resolve, leftMs);
        await Promise.race([tick.promise, this.#change.promise]);
        clearTimeout(timer);
        continue;
      }
      await this.#storeNow();
      fromMs = clock.elapsedMs();
    }
  }

  async #storeNow(): Promise<void> {
    const run = this.#run;
    const some = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#changed();
    const { part, done, failed, usage } = run.progress;
    if (part === null) throw new Error("only an open part has results");
    const used = some.reduce((sum, one) => (one.usage === null ? sum : sumUsage(sum, one.usage)), NO_USAGE);
    const failures = some.filter(({ isFailed }) => isFailed).length;
    await run.results.store(
      some.map(({ line }) => line),
      {
        done: done + some.length,
        failed: failed + failures,
        usage: sumUsage(usage, used),
        part: {
          ...part,
          done: [...part.done, ...some.map(({ at }) => at)],
          nano: some.reduce((sum, { nano }) => add(sum, nano), part.nano),
          usage: sumUsage(part.usage, used),
          legs: summedLegs([...part.legs, ...some.flatMap(({ legs }) => legs)]),
        },
      },
    );
    run.deps.onLines("completed", some.length - failures);
    run.deps.onLines("failed", failures);
  }
}

function mayPass({ status, retry }: LineAnswer, retries: number): boolean {
  const isLimited = status === 429 || status === 503 || status === 529;
  if (isLimited && retry) return retries < LIMITED_RETRIES_MAX;
  return (retry || status === 0 || status >= 500) && retries < RETRIES_MAX;
}

function retryMs({ retryAfterMs }: LineAnswer, retries: number): number {
  return Math.max(retryAfterMs, Math.min(RETRY_MS * 2 ** retries, RETRY_MS_MAX));
}

/** Runs what is left of the open part. False: the batch stopped before all of its lines ran. */
export async function runPart(run: BatchRun, index: LineIndex): Promise<boolean> {
  const { part } = run.progress;
  if (part === null) throw new Error("there is no open part");
  const { job, deps, start, accountId } = run;
  const { keyId } = start;
  const now = await job.stored(() => deps.calls.callerOf(accountId, keyId));
  const payer = { ...job.payer, id: `acct:${accountId}`, accountId, keyId } as const;
  const caller = run.answers === null ? now : callerOfDone(payer, now);
  if (caller === null) {
    await run.save({ stop: "key_revoked" });
    return false;
  }
  await new PartRun(run, index, caller, part).toEnd(part);
  if (run.isLost) throw new LeaseLost();
  const good = Array.from({ length: part.to - part.from }, (_, at) => part.from + at).filter((at) =>
    run.isDue(index, at),
  ).length;
  return (run.progress.part?.done.length ?? 0) >= good;
}

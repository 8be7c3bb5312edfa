// The runs of this process's calls: opened, found, changed and stopped. Open ones are cached; a change by any process drops them.
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { putLast } from "../../core/maps.ts";
import { type Nano, nanoFromCents, usdText } from "../../core/money.ts";
import { Places } from "../../core/places.ts";
import type { Caller } from "../../core/plan.ts";
import type { Books } from "../accounts/books.ts";
import { missing } from "../accounts/own-endpoint.ts";
import { NO_RUN_RULES } from "../accounts/run-rules.ts";
import { runScope } from "../ledger/model/windows.ts";
import { OpenRun } from "./open-run.ts";
import {
  countOpened,
  findRun,
  LIFE_MS_MAX,
  putChild,
  putRun,
  type RunRecord,
  type RunRecords,
  type StoredRun,
} from "./run-record.ts";

/** A run lies at most this deep, itself included. */
const DEPTH_MAX = 8;
/** Of several concurrent changes one succeeds per try. */
const TRIES_MAX = 100;
/** As for callers: without announcements, changes may be this late. */
const KNOWN_MS = 60_000;
const UNHEARD_MS = 500;
const KNOWN_COUNT_MAX = 20_000;
/** Runs cost their account nothing until they are used, and their records are kept for months. */
const OPENED_PER_DAY_MAX = 20_000;
/** How often running calls are checked while announcements are not received. */
const CHECK_MS = 500;

export interface RunsOptions {
  readonly records: RunRecords;
  readonly books: Pick<Books, "periodSums">;
  readonly clock: Clock;
  /** Whether this process receives other processes' changes. */
  readonly hears: () => boolean;
  readonly onBroken: (error: unknown) => void;
  /** Drops what this process caches of an account. */
  readonly forget: (accountId: string) => void;
  /** The most runs that an account opens within a day. */
  readonly openedPerDayMax?: number;
}

export interface NewRun {
  readonly id: string;
  readonly budgetNano: Nano;
  readonly label?: string | null;
  readonly parent?: string | null;
  readonly expiresAtMs?: number | null;
  readonly rules?: Partial<RunRecord["rules"]>;
  /** It was opened by a client's session, not by name. */
  readonly isSession?: true;
}

interface Known {
  readonly run: OpenRun;
  readonly untilMs: number;
}

export function noSuchRun(id: string): GatewayError {
  return missing("run", `There is no run ${id.slice(0, 80)} here.`);
}

function runStopped(id: string): GatewayError {
  return new GatewayError("run_stopped", { detail: { run: id }, data: { run_id: id } });
}

function badRun(param: string, message: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: `${param}: ${message}` });
}

/** An agent key opens, or raises, runs within its own ceiling. */
function checkCeiling({ primary, payer, budgets = [] }: Caller, budgetNano: Nano): void {
  const ceiling = budgets.find(({ scope }) => scope === `key:${payer.keyId}`)?.maxNano ?? null;
  if (!primary && ceiling !== null && budgetNano > ceiling)
    throw badRun("budget_cents", "must not exceed the ceiling of the key");
}

/** A budget that the caller may set; null: the operator may set any. */
export function withinCeiling(caller: Caller | null, cents: number): Nano {
  const budgetNano = nanoFromCents(cents);
  if (caller !== null) checkCeiling(caller, budgetNano);
  return budgetNano;
}

interface RunningCall {
  readonly run: OpenRun;
  /** Ends the call: its client gets the error, and it is charged as if the client had left. */
  stop(error: GatewayError): void;
}

/** The calls that run in this process as parts of runs, so that a stop reaches them. */
class RunningCalls {
  readonly #calls = new Map<string, Set<RunningCall>>();

  /** Adds a call until the returned function is called. */
  add(call: RunningCall): () => void {
    const { accountId } = call.run.record;
    const calls = this.#calls.get(accountId) ?? new Set();
    this.#calls.set(accountId, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.#calls.get(accountId) === calls) this.#calls.delete(accountId);
    };
  }

  /** An account's calls; null: all. */
  of(accountId: string | null): readonly RunningCall[] {
    const sets = accountId === null ? [...this.#calls.values()] : [this.#calls.get(accountId) ?? []];
    return sets.flatMap((calls) => [...calls]);
  }
}

export class Runs {
  readonly running = new RunningCalls();
  /**
   * Turns of accounts at reads for lists and bills: each read takes up to nine operations of the store that calls wait for. Only single reads
   * take a place, so none waits for one below it.
   */
  readonly listing = new Places(32);
  readonly #options: RunsOptions;
  readonly #known = new Map<string, Known>();
  /** Incremented by every `forget`: a run read before it must not be cached after it. */
  #generation = 0;
  #changed = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  /** Cancels the jobs of these runs, once one is stopped. */
  onStopped: (accountId: string, isPart: (runId: string) => Promise<boolean>) => Promise<void> = async () => {};

  /** A call of this run waits for a larger budget. */
  onAsk: (run: OpenRun) => void = () => {};

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  start(): void {
    const { hears } = this.#options;
    this.#timer = setInterval(() => hears() || this.#check(null), CHECK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Drops the cache of an account, or of all (null), and ends its running calls whose runs are stopped. */
  forget(accountId: string | null): void {
    this.#generation += 1;
    for (const [name, { run }] of this.#known)
      if (accountId === null || run.record.accountId === accountId) this.#known.delete(name);
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
    this.#check(accountId);
  }

  #check(accountId: string | null): void {
    const runs = new Map(
      this.running.of(accountId).map(({ run }) => [`${run.record.accountId} ${run.id}`, run.record]),
    );
    for (const { accountId: owner, id } of runs.values())
      this.read(owner, id)
        .then((run) => {
          const stopped = run?.stoppedId ?? null;
          if (stopped === null) return;
          for (const call of this.running.of(owner)) if (call.run.id === id) call.stop(runStopped(stopped));
        })
        // While the store is away, nothing is known of the run, and its calls continue.
        .catch(this.#options.onBroken);
  }

  /** The run for a new call; throws where it is unknown, has expired or was stopped. */
  async get(accountId: string, id: string): Promise<OpenRun> {
    const run = await this.find(accountId, id);
    if (run === null) throw noSuchRun(id);
    if (run.stoppedId !== null) throw runStopped(run.stoppedId);
    if (run.expiresAtMs <= this.#options.clock.epochMs()) throw noSuchRun(run.id);
    return run;
  }

  /** The run whatever its state; null: unknown. */
  async find(accountId: string, id: string): Promise<OpenRun | null> {
    const known = this.#known.get(`${accountId} ${id}`);
    if (known !== undefined && known.untilMs > this.#options.clock.elapsedMs()) return known.run;
    return this.read(accountId, id);
  }

  /** The run with its sums of this moment; null: unknown. */
  async read(accountId: string, id: string): Promise<OpenRun | null> {
    const { records, books, clock, hears } = this.#options;
    const before = this.#generation;
    const own = await findRun(records, accountId, id);
    if (own === null) return null;
    const above = await Promise.all(own.run.ancestors.map((ancestor) => findRun(records, accountId, ancestor)));
    const lineage = [own.run, ...above.flatMap((found) => (found === null ? [] : [found.run]))];
    const sums = await books.periodSums(
      accountId,
      lineage.map((run) => ({ scope: runScope(run.id), period: "run" })),
    );
    const run = new OpenRun(lineage, sums, this);
    if (before !== this.#generation) return run;
    const untilMs = clock.elapsedMs() + (hears() ? KNOWN_MS : UNHEARD_MS);
    putLast(this.#known, `${accountId} ${id}`, { run, untilMs }, KNOWN_COUNT_MAX);
    return run;
  }

  /** Opens a run; returns the existing one where the same was opened before. Throws where it must not be opened. */
  async open(caller: Caller, asked: NewRun): Promise<{ readonly run: OpenRun; readonly isNew: boolean }> {
    const { accountId, keyId } = caller.payer;
    const { records, clock } = this.#options;
    const { id, budgetNano, parent = null, label = null } = asked;
    const before = await findRun(records, accountId, id);
    if (before !== null) return { run: await this.#same(before.run, asked), isNew: false };
    checkCeiling(caller, budgetNano);
    if (parent === id) throw badRun("parent", "must be another run");
    const above = parent === null ? null : await this.get(accountId, parent);
    const ancestors = above === null ? [] : [above.id, ...above.record.ancestors];
    if (ancestors.length >= DEPTH_MAX) throw badRun("parent", `lies ${DEPTH_MAX} runs deep, which is the limit`);
    const [sums] = await this.#options.books.periodSums(accountId, [{ scope: runScope(id), period: "run" }]);
    // Its record is gone, and its sums are kept for good.
    if (sums !== undefined && sums.spentNano + sums.heldNano + sums.absorbedNano > 0) throw noSuchRun(id);
    const nowMs = Math.floor(clock.epochMs());
    const last = above === null ? nowMs + LIFE_MS_MAX : above.expiresAtMs;
    const record: RunRecord = {
      id,
      accountId,
      keyId,
      label,
      budgetNano,
      openedNano: budgetNano,
      ancestors,
      createdAtMs: nowMs,
      expiresAtMs: Math.min(asked.expiresAtMs ?? last, last),
      stoppedAtMs: null,
      rules: { ...NO_RUN_RULES, ...caller.runRules, ...asked.rules },
      noticedAt: 0,
    };
    const limit = this.#options.openedPerDayMax ?? OPENED_PER_DAY_MAX;
    if (!(await countOpened(records, record, limit))) throw new GatewayError("too_many_runs", { detail: { limit } });
    await putChild(records, record);
    if (!(await putRun(records, record, 0, nowMs))) return this.open(caller, asked);
    return { run: await this.get(accountId, id), isNew: true };
  }

  /** The run of a client's session, opened by its first call. */
  async ofSession(caller: Caller, asked: NewRun): Promise<OpenRun> {
    const { accountId } = caller.payer;
    if ((await this.find(accountId, asked.id)) !== null) return this.get(accountId, asked.id);
    return (await this.open(caller, { ...asked, isSession: true })).run;
  }

  /** Throws where a run was opened with another budget. */
  checkSame({ id, budgetNano, openedNano }: RunRecord, askedNano: Nano): void {
    if (askedNano !== budgetNano && askedNano !== openedNano)
      throw new GatewayError("run_exists", { detail: { run: id }, data: { budget_usd: usdText(budgetNano) } });
  }

  async #same(run: RunRecord, { parent = null, budgetNano, isSession }: NewRun): Promise<OpenRun> {
    // A session keeps the budget that it began with.
    if (isSession !== true) this.checkSame(run, budgetNano);
    if (parent !== null && parent !== run.ancestors[0]) throw badRun("parent", `the run ${run.id} has another parent`);
    return this.get(run.accountId, run.id);
  }

  /** Changes a run; stops it where the new budget is spent already. */
  async change(accountId: string, id: string, by: (run: RunRecord) => RunRecord): Promise<OpenRun> {
    const { records, clock, forget } = this.#options;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const found: StoredRun | null = await findRun(records, accountId, id);
      if (found === null) throw noSuchRun(id);
      const after = by(found.run);
      if (after !== found.run && !(await putRun(records, after, found.version, clock.epochMs()))) continue;
      forget(accountId);
      const run = await this.read(accountId, id);
      if (run === null) throw noSuchRun(id);
      if (run.spentNano > run.budgetNano && after.stoppedAtMs === null) return this.stop(accountId, id);
      return run;
    }
    throw new GatewayError("ledger_unavailable", { retryAfterSeconds: 1 });
  }

  /** Stops a run for good: its calls end, its jobs are cancelled, and the runs below it are stopped with it. */
  async stop(accountId: string, id: string): Promise<OpenRun> {
    const nowMs = Math.floor(this.#options.clock.epochMs());
    const run = await this.change(accountId, id, (before) =>
      before.stoppedAtMs === null ? { ...before, stoppedAtMs: nowMs } : before,
    );
    await this.cancelWork(accountId, id);
    return run;
  }

  /** Cancels the jobs of a stopped run and of those below it. */
  async cancelWork(accountId: string, id: string): Promise<void> {
    await this.onStopped(
      accountId,
      async (runId) => runId === id || ((await this.find(accountId, runId))?.record.ancestors.includes(id) ?? false),
    );
  }

  /** A charge of a run passed a mark, its own or an ancestor's: stops those of them whose rules say so. */
  passedMark(accountId: string, id: string): void {
    this.#stopAtMarks(accountId, id).catch(this.#options.onBroken);
  }

  async #stopAtMarks(accountId: string, id: string): Promise<void> {
    const ancestors = (await this.find(accountId, id))?.record.ancestors ?? [];
    for (const one of [id, ...ancestors]) {
      const run = await this.read(accountId, one);
      const stopAt = run?.record.rules.stopAt ?? null;
      if (run !== null && stopAt !== null && run.stoppedId === null && run.usedPercent >= stopAt)
        await this.stop(accountId, one);
    }
  }

  /** Waits until a run has more budget; null: not within its rules' time, or it was stopped. */
  async larger(run: OpenRun): Promise<OpenRun | null> {
    const { askAt, askSeconds } = run.record.rules;
    const { accountId, id } = run.record;
    const isLarger = ({ bounds }: OpenRun) =>
      bounds.some(({ maxNano }, at) => maxNano > (run.bounds[at]?.maxNano ?? maxNano));
    if (askAt === null || run.usedPercent < askAt) return null;
    this.onAsk(run);
    const over = new Promise<null>((resolve) => setTimeout(() => resolve(null), askSeconds * 1_000).unref());
    for (;;) {
      const changed = this.#changed.promise;
      const now = await this.find(accountId, id);
      if (now === null || now.stoppedId !== null) return null;
      if (isLarger(now)) return now;
      if ((await Promise.race([changed, over])) === null) return null;
    }
  }

  /** Records that a mark is reported to the model; false where another call reports it. */
  async notice(run: OpenRun, mark: number): Promise<boolean> {
    const { accountId, id } = run.record;
    let isFirst = false;
    await this.change(accountId, id, (before) => {
      isFirst = before.noticedAt < mark;
      return isFirst ? { ...before, noticedAt: mark } : before;
    });
    return isFirst;
  }
}

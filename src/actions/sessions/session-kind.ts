// An open session, as a job: pays for each minute in advance, checks that the box still exists, and ends once.
import type { JobEnd, JobKind, NotHeld, RunningJob, Served } from "../../catalog/job-kind.ts";
import { BoxGone } from "../../catalog/session.ts";
import { atOtherPrice, minus, type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import type { BoxCleanups } from "./box-cleanups.ts";
import type { SessionCommands } from "./commands.ts";
import type { SessionsDeps } from "./deps.ts";
import { costOf, holdFor, isBeyond, isDue, MINUTE_MS, type SessionRates, startedMinutes } from "./meter.ts";
import { dropSession, findSession, type SessionRecord, sessionIdOf } from "./session-record.ts";
import type { SessionVendor } from "./vendor.ts";

export const SESSION_JOB = "session";
/** Longer than any adapter allows; each session ends by its own bound. */
export const SESSION_MINUTES_MAX = 1_440;
/** Minutes between two checks that the vendor still has the box. */
const LOOK_MINUTES = 5;
/** Where the vendor cannot confirm the box for this long, the session ends, charged up to the last confirmation. */
const UNSEEN_MS_MAX = 15 * MINUTE_MS;
/** How long a close waits for the vendor; after that, retries run in the background. */
const CLOSE_MS_MAX = 10_000;

/** What the launch passes to its job. */
export interface SessionStart extends SessionRates {
  readonly provider: string;
  readonly metered: "open" | "busy";
}

/** Why a session ended: closed by its caller; out of time, `max_cost_cents` or money; or lost by its vendor. */
export type Ending = NotHeld | "closed" | "time" | "max_cost" | "vendor_closed" | "vendor_away";

interface Closing {
  readonly ending: Ending;
  readonly minutes: number;
  readonly totalNano: Nano;
}

interface Progress {
  /** When the vendor last confirmed the box. */
  readonly seenMs: number;
  readonly closing: Closing | null;
}

export interface SessionParts {
  readonly deps: SessionsDeps;
  readonly vendor: SessionVendor;
  readonly commands: SessionCommands;
  readonly unclosed: BoxCleanups;
}

/** Null: continue for another minute; else end, charged up to that moment. */
type Next = { readonly ending: Ending; readonly atMs: number } | null;

class OpenSession {
  readonly #job: RunningJob;
  readonly #start: SessionStart;
  readonly #parts: SessionParts;
  readonly #session: SessionRecord;
  readonly #openedMs: number;
  #seenMs: number;

  constructor(job: RunningJob, session: SessionRecord, openedMs: number, parts: SessionParts) {
    this.#job = job;
    this.#start = job.start as SessionStart;
    this.#parts = parts;
    this.#session = session;
    this.#openedMs = openedMs;
    this.#seenMs = (job.progress as Progress | null)?.seenMs ?? openedMs;
  }

  /** Runs until the session ends. Rejects with LeaseLost, or where the store is away. */
  async untilEnd(): Promise<Closing> {
    const { clock, wait } = this.#parts.deps;
    const { signal } = this.#job;
    // The process that ran it before may have extended the hold after its last write of the record.
    let next = signal.aborted ? this.#stopped() : await this.#pay(await this.#minutes(clock.epochMs()));
    // `wall` is the minute that is paid for; at its very end the next one is due.
    for (let wall = 1; next === null; wall += 1) {
      const nowMs = clock.epochMs();
      wall = Math.max(wall, startedMinutes(nowMs - this.#openedMs));
      const untilMs = this.#openedMs + wall * MINUTE_MS;
      await wait(untilMs - nowMs, signal);
      next = signal.aborted ? this.#stopped() : await this.#tick(wall, untilMs);
    }
    const { ending, atMs } = next;
    // Without a hold, nothing more than what is posted can be charged: the minutes up to the last confirmation.
    const minutes = await this.#minutes(this.#job.holding.isHeld ? atMs : Math.min(atMs, this.#seenMs));
    return { ending, minutes, totalNano: costOf(this.#start, minutes) };
  }

  #stopped(): Next {
    const { cancelledAtMs } = this.#job;
    const nowMs = this.#parts.deps.clock.epochMs();
    return cancelledAtMs === null ? { ending: "time", atMs: nowMs } : { ending: "closed", atMs: cancelledAtMs };
  }

  async #minutes(atMs: number): Promise<number> {
    if (this.#start.metered === "open") return startedMinutes(atMs - this.#openedMs);
    const { busyMs } = await this.#parts.commands.use(this.#job.id, atMs);
    return startedMinutes(busyMs);
  }

  /** At the end of a minute: pays for the next one, or ends the session. */
  async #tick(wall: number, atMs: number): Promise<Next> {
    if (wall >= this.#start.minutesMax) return { ending: "time", atMs };
    const minutes = (await this.#minutes(atMs)) + 1;
    if (isBeyond(this.#start, minutes)) return { ending: "max_cost", atMs };
    // What is posted stays charged, so the check of the box comes first.
    const isPosting = isDue(this.#job.holding.sinceMs, this.#parts.deps.clock.epochMs());
    const gone = isPosting || wall % LOOK_MINUTES === 0 ? await this.#look() : null;
    if (gone !== null) return gone;
    const refused = await this.#pay(minutes);
    return refused === null ? null : { ...refused, atMs };
  }

  async #pay(minutes: number): Promise<Next> {
    const atMs = this.#parts.deps.clock.epochMs();
    const { amountNano, sinceMs, postedNano } = this.#job.holding;
    if (amountNano === ZERO) return { ending: "no_money", atMs };
    if (isDue(sinceMs, atMs)) {
      // Posts up to the last confirmation; the next hold covers the minutes after it.
      const sure = Math.min(minutes - 1, await this.#minutes(this.#seenMs));
      const soFar = minus(costOf(this.#start, sure), postedNano);
      const next = holdFor(this.#start, minutes, postedNano);
      const ending = await this.#job.succeed(soFar, minus(next, soFar), servedOf(this.#start, soFar));
      return ending === null ? null : { ending, atMs };
    }
    const dueNano = minus(costOf(this.#start, minutes), postedNano);
    let refused = await this.#job.extend(holdFor(this.#start, minutes, postedNano), dueNano);
    // Not enough money for the minutes ahead: hold only what is due.
    if (refused === "no_money") refused = await this.#job.extend(dueNano, dueNano);
    return refused === null ? null : { ending: refused, atMs };
  }

  /** Checks the box. An unknown answer ends the session only after a while. */
  async #look(): Promise<Next> {
    const { deps, vendor, commands } = this.#parts;
    const { adapterId, sandbox, box } = this.#session;
    const adapter = deps.adapter(adapterId, sandbox);
    const { id, signal } = this.#job;
    const nowMs = deps.clock.epochMs();
    const asking = adapter === null ? null : { adapter, requestId: id, sandboxFault: null, signal };
    const isOpen = asking === null || box === null ? null : await vendor.keepOpen(asking, box).catch(goneOrUnknown);
    if (isOpen === true) this.#seenMs = nowMs;
    const { answeredMs } = await commands.use(id, nowMs);
    this.#seenMs = Math.max(this.#seenMs, answeredMs ?? 0);
    if (isOpen === false) return { ending: "vendor_closed", atMs: this.#seenMs };
    if (nowMs - this.#seenMs > UNSEEN_MS_MAX) return { ending: "vendor_away", atMs: this.#seenMs };
    if (signal.aborted) return this.#stopped();
    await this.#job.save({ seenMs: this.#seenMs, closing: null } satisfies Progress);
    return null;
  }
}

function servedOf({ provider, centsPerHour, upstreamCentsPerHour }: SessionStart, chargeNano: Nano): Served {
  const upstreamNano = atOtherPrice(chargeNano, nanoFromCents(centsPerHour), nanoFromCents(upstreamCentsPerHour));
  return { provider, action: `${provider}/create_session`, upstreamNano };
}

function endOf({ id, start, holding }: RunningJob, { ending, minutes, totalNano }: Closing): JobEnd {
  const chargeNano = minus(totalNano, holding.postedNano);
  const result = { session_id: sessionIdOf(id), status: "closed", ended: ending, minutes };
  return { status: "succeeded", result, chargeNano, served: servedOf(start as SessionStart, chargeNano) };
}

/** False: the box is gone. Null: the vendor did not say. */
function goneOrUnknown(error: unknown): false | null {
  return error instanceof BoxGone ? false : null;
}

export function sessionKind(parts: SessionParts): JobKind {
  const { deps, unclosed, commands } = parts;
  const { records } = deps;

  async function run(job: RunningJob): Promise<JobEnd> {
    const session = await findSession(records, job.id);
    const progress = job.progress as Progress | null;
    let closing = progress?.closing ?? null;
    if (closing === null) {
      const openedMs = session?.openedAtMs ?? null;
      if (session === null || openedMs === null) throw new Error(`nothing is known of the box of ${job.id}`);
      closing = await new OpenSession(job, session, openedMs, parts).untilEnd();
      // The save proves that this process owns the end; a process that continues from here ends it the same way.
      await job.save({ seenMs: progress?.seenMs ?? openedMs, closing } satisfies Progress);
    }
    if (session !== null) {
      await leaveBox(job.id, session);
      await unclosed.close(job.id, session, AbortSignal.timeout(CLOSE_MS_MAX));
    }
    return endOf(job, closing);
  }

  /** From now on the box only has to be closed. */
  async function leaveBox(jobId: string, session: SessionRecord): Promise<void> {
    await unclosed.add(jobId, session);
    await dropSession(records, jobId);
    await commands.forget(jobId);
  }

  return {
    name: SESSION_JOB,
    msMax: SESSION_MINUTES_MAX * MINUTE_MS,
    counted: "upstream_cost",
    run,
    async abandon(jobId) {
      const session = await findSession(records, jobId);
      if (session !== null) await leaveBox(jobId, session);
    },
  };
}

// A ledger that writes each call's end to this process's disk first, so that a store that is down or loses data loses no charge.
import type { Clock } from "../../../core/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import { putLast } from "../../../core/maps.ts";
import { add, centsUp, least, minus, type Nano, nano, ZERO } from "../../../core/money.ts";
import type {
  HoldOrigin,
  Ledger,
  PostOutcome,
  PostRequest,
  ReserveRequest,
  SharedLedger,
  VoidOutcome,
} from "../model/ledger.ts";
import { accountOf, Delivery, isAway, noteOf } from "./delivery.ts";
import { examineSpool } from "./doctor.ts";
import type { Spool, SpoolState } from "./file.ts";
import type { Intent } from "./intent.ts";
import type { Told } from "./tell-store.ts";
import type { StoredIntent } from "./unit.ts";
import { type UnwrittenEnds, unwrittenEnds } from "./unwritten.ts";

export interface SpooledLedgerOptions {
  readonly clock: Clock;
  readonly leaseMs: number;
  /** Called where an end cannot be delivered, or part of the spool's work fails. */
  readonly onBroken: (error: unknown) => void;
  /** Called where a charge that the caller saw found its hold ended otherwise, and the hold's origin is unknown. */
  readonly onForfeit: (lost: {
    readonly transactionId: string;
    readonly amountNano: Nano;
    readonly hold: string;
  }) => void;
}

export interface SpooledLedger extends Ledger {
  /** Delivers what the previous process left. Await it before the first reserve, which is refused until then. */
  recover(): Promise<void>;
  /** The store is a different one: delivers the answers of the last ten minutes again. */
  repeat(): void;
  spoolState(): SpoolState;
}

/** The most open holds whose origin this process remembers; the oldest are evicted. */
const PLACED_MAX = 100_000;
const STARTING_RETRY_SECONDS = 1;
/** Renewals per lease. */
const HEARTBEATS = 4;

/** What is needed to charge for a hold that the store has lost. */
function originOf(request: ReserveRequest): HoldOrigin {
  const { keyId, parentId, amountNano, inference, windows, nowMs } = request;
  const { requestId, operation, asked, effect, idempotency } = request;
  return { keyId, parentId, amountNano, inference, windows, nowMs, requestId, operation, asked, effect, idempotency };
}

/** The charge that a caller sees before the store does. Its cents depend on earlier charges: at most one less for one posting. */
function spooled({ amountNano }: PostRequest, origin: HoldOrigin | null): PostOutcome {
  const chargedNano = origin === null ? amountNano : least(amountNano, origin.amountNano);
  const absorbedNano = minus(amountNano, chargedNano);
  return { outcome: "spooled", chargedNano, chargedCents: centsUp(chargedNano), absorbedNano, balanceNano: null };
}

/**
 * Tracks store outages. During one, leases end that could not be renewed, and holds whose ends wait in spools: nothing is swept for one
 * lease afterwards. An outage shorter than a heartbeat interval ends no lease.
 */
function outages(clock: Clock, leaseMs: number) {
  let sinceMs: number | null = null;
  let freshUntilMs = Number.NEGATIVE_INFINITY;
  let unrenewedUntilMs = Number.NEGATIVE_INFINITY;
  return {
    /** Passes an answer on, and records a failure of a request that was just sent. */
    async watched<T>(answer: Promise<T>): Promise<T> {
      const sentMs = clock.elapsedMs();
      try {
        const value = await answer;
        sinceMs = null;
        return value;
      } catch (error) {
        if (!isAway(error)) throw error;
        const nowMs = clock.elapsedMs();
        sinceMs = Math.min(sinceMs ?? sentMs, sentMs);
        if (nowMs - sinceMs >= leaseMs / HEARTBEATS) freshUntilMs = nowMs + leaseMs;
        throw error;
      }
    },
    /** The same for a heartbeat: until one succeeds, this process's own holds may look like a dead process's. */
    async watchedBeat<T>(answer: Promise<T>): Promise<T> {
      const value = await answer.catch((error: unknown) => {
        if (isAway(error)) unrenewedUntilMs = clock.elapsedMs() + leaseMs;
        throw error;
      });
      unrenewedUntilMs = Number.NEGATIVE_INFINITY;
      return value;
    },
    holdsBackSweeps: () => clock.elapsedMs() < Math.max(freshUntilMs, unrenewedUntilMs),
  };
}

function placedHolds() {
  const placed = new Map<string, HoldOrigin>();
  return {
    add({ holdId, ...request }: ReserveRequest): void {
      putLast(placed, holdId, originOf({ holdId, ...request }), PLACED_MAX);
    },
    grow(holdId: string, amountNano: Nano): void {
      const origin = placed.get(holdId);
      if (origin !== undefined) placed.set(holdId, { ...origin, amountNano });
    },
    get: (holdId: string) => placed.get(holdId) ?? null,
    delete: (holdId: string) => placed.delete(holdId),
  };
}

/** The end of a call that the caller sees as failed: free of charge, though a write may have happened. */
function asFailed(intent: Intent): Intent {
  if (intent.op === "void") return intent;
  const { origin, request } = intent;
  const { accountId, holdId } = request;
  const keyFate = origin?.effect === "write" ? "unknown" : "free";
  const upstreamNano = add(request.upstreamNano, request.beside?.costNano ?? ZERO);
  return { op: "void", hold: { accountId, holdId }, reason: "neither spool nor store", keyFate, upstreamNano, origin };
}

/** Delivers an end that the spool could not write. Rejects where the store is down too; the call then fails. */
async function tellUnwritten(intent: Intent, post: Delivery, unwritten: UnwrittenEnds): Promise<Told> {
  try {
    const told = await post.tell(intent);
    unwritten.keep(intent, noteOf(told));
    return told;
  } catch (error) {
    const comesAgain = intent.op === "post" && intent.request.decided === true;
    if (!comesAgain) unwritten.keep(asFailed(intent), null);
    throw error;
  }
}

interface Ways {
  readonly spool: Spool;
  readonly post: Delivery;
  readonly unwritten: UnwrittenEnds;
}

/** Delivers an end after writing it durably. Null: the store is down and gets it later. */
async function tellDurably(intent: Intent, { spool, post, unwritten }: Ways): Promise<Told | null> {
  let stored: StoredIntent;
  try {
    stored = await spool.append(intent);
  } catch {
    return tellUnwritten(intent, post, unwritten);
  }
  if (post.waits(accountOf(intent))) {
    post.postpone(stored);
    return null;
  }
  try {
    const told = await post.tell(intent);
    spool.end(stored, noteOf(told));
    return told;
  } catch {
    post.postpone(stored);
    return null;
  }
}

/** Ends calls: their holds are placed no more once the end is durable. */
function spooledEnds(ways: Ways, placed: ReturnType<typeof placedHolds>): Pick<Ledger, "post" | "void"> {
  return {
    async post(request) {
      nano(request.amountNano);
      nano(request.upstreamNano);
      const origin = placed.get(request.holdId);
      const told = await tellDurably({ op: "post", request, origin }, ways);
      placed.delete(request.holdId);
      return told === null ? spooled(request, origin) : (told as PostOutcome);
    },
    async void({ accountId, holdId }, reason, { keyFate = "free", upstreamNano = ZERO } = {}) {
      const origin = placed.get(holdId);
      const hold = { accountId, holdId };
      const cost = upstreamNano > 0 ? { upstreamNano: nano(upstreamNano) } : {};
      const told = await tellDurably({ op: "void", hold, reason, keyFate, ...cost, origin }, ways);
      placed.delete(holdId);
      return told === null ? { outcome: "voided" } : (told as VoidOutcome);
    },
  };
}

export function spooledLedger(ledger: SharedLedger, spool: Spool, options: SpooledLedgerOptions): SpooledLedger {
  const { clock, leaseMs, onBroken, onForfeit } = options;
  const placed = placedHolds();
  let recovered = false;
  const { watched, watchedBeat, holdsBackSweeps } = outages(clock, leaseMs);
  const post = new Delivery({
    ledger,
    spool,
    onBroken,
    watched,
    onForfeit(intent, hold) {
      if (intent.op === "post")
        onForfeit({ transactionId: intent.request.holdId, amountNano: intent.request.amountNano, hold });
    },
  });

  const ways = { spool, post, unwritten: unwrittenEnds(spool, post, onBroken) };

  function repeat(): void {
    ways.unwritten.repeat();
    post.repeat();
  }

  async function place(request: ReserveRequest): ReturnType<Ledger["reserve"]> {
    if (!recovered) {
      throw new GatewayError("ledger_unavailable", { retryAfterSeconds: STARTING_RETRY_SECONDS, nothingDone: true });
    }
    spool.requireRoom();
    const outcome = await watched(ledger.reserve(request));
    post.wake(request.accountId);
    // An id is made for one call, so an existing hold is this call's own: the first answer was lost.
    const second = outcome.outcome === "exists" && outcome.state === "held" && placed.get(request.holdId) === null;
    if (outcome.outcome !== "held" && !second) return outcome;
    placed.add(request);
    return second ? { outcome: "held" } : outcome;
  }

  return {
    ...ledger,
    reserve: place,
    async extend(hold, amountNano, accrued, lease) {
      const outcome = await watched(ledger.extend(hold, amountNano, accrued, lease));
      if (outcome.outcome === "extended") placed.grow(hold.holdId, outcome.amountNano);
      return outcome;
    },
    ...spooledEnds(ways, placed),
    renew: (holds, lease) => watchedBeat(watched(ledger.renew(holds, lease))),
    sweep(countMax, onlyOwner) {
      if (holdsBackSweeps()) return Promise.resolve([]);
      return watched(onlyOwner === undefined ? ledger.sweep(countMax) : ledger.sweep(countMax, onlyOwner));
    },
    async recover() {
      await post.recover();
      recovered = true;
      // The store may not be the one that answered the previous process.
      repeat();
    },
    repeat,
    spoolState: () => spool.state(),
    async doctor(given) {
      const report = await ledger.doctor(given);
      const nowMs = clock.epochMs();
      return { ...report, findings: [...report.findings, ...(await examineSpool({ spool, ledger, leaseMs, nowMs }))] };
    },
    async close() {
      await ways.unwritten.close();
      await post.close();
      await spool.close();
      await ledger.close();
    },
  };
}

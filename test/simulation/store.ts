// The store that all gateways of a simulation share: the model, its changes in order, and what it loses when it dies.
import type { AccountRow, PostingRow } from "../../src/core/account-rows.ts";
import type { Nano } from "../../src/core/money.ts";
import type {
  ExtendOutcome,
  HoldOrigin,
  HoldRef,
  HoldState,
  LateReason,
  PostOutcome,
  PostRequest,
  ReserveOutcome,
  ReserveRequest,
  Standing,
  VoidEnd,
  VoidOutcome,
} from "../../src/money/ledger/model/ledger.ts";
import type { PutRecord, RecordPage, StoredRecord } from "../../src/platform/records/records.ts";
import { SharedModelAccount } from "../money/ledger/model/shared-model.ts";
import type { AccountPlan, Scenario } from "./scenario.ts";
import type { VirtualTime } from "./virtual-time.ts";

export const LEASE_MS = 60_000;
const UNBOUNDED_NANO = 1e15;

export const accountId = (number: number): string => `account-${number}`;
export const runId = (at: number): string => `run-${at}`;
export const keyId = (number: number): string => `account-${number}.key`;

/** All stored data at one moment. */
class Kept {
  readonly accounts = new Map<string, SharedModelAccount>();
  readonly records = new Map<string, StoredRecord & { readonly put: symbol }>();
  /** The request of each charge's posting. */
  readonly posted = new Map<string, PostRequest>();

  constructor(plans: readonly AccountPlan[], startMs: number) {
    for (const [number, { creditNano, ceilingNano }] of plans.entries()) {
      const account = new SharedModelAccount(UNBOUNDED_NANO, startMs);
      const limits = { ceilingNano: ceilingNano as Nano | null, ceilingPeriod: "day" as const };
      account.keys.set(keyId(number), { ...limits, services: null, models: null, expiresAtMs: null, paused: false });
      account.topUp(`topup-${number}`, creditNano, "first");
      this.accounts.set(accountId(number), account);
    }
  }

  at(id: string): SharedModelAccount {
    const account = this.accounts.get(id);
    if (account === undefined) throw new Error(`there is no ${id}`);
    return account;
  }

  /** Records a charge, where the outcome is one. */
  note<T extends PostOutcome>(request: PostRequest, outcome: T): T {
    if (outcome.outcome === "posted" && !outcome.repeat) this.posted.set(request.holdId, request);
    return outcome;
  }

  /** A record that has not expired. */
  record(kind: string, id: string, atMs: number) {
    const found = this.records.get(`${kind} ${id}`);
    return found === undefined || isOver(found, atMs) ? null : found;
  }
}

function isOver({ expiresAtMs }: StoredRecord, atMs: number): boolean {
  return expiresAtMs !== null && expiresAtMs <= atMs;
}

type Change = (kept: Kept, atMs: number) => unknown;

/** A process's operations on the store; each is one atomic step, and idempotent. */
export const operations = {
  reserve:
    (request: ReserveRequest) =>
    (kept: Kept): ReserveOutcome =>
      kept.at(request.accountId).reserve(request),
  extend:
    (hold: HoldRef, amountNano: Nano, accrued: Nano, leaseMs: number) =>
    (kept: Kept): ExtendOutcome =>
      kept.at(hold.accountId).extend(hold.holdId, amountNano, accrued, leaseMs),
  standing:
    (hold: HoldRef) =>
    (kept: Kept): Standing =>
      kept.at(hold.accountId).standing(hold.holdId),
  renew:
    (holds: readonly HoldRef[], leaseMs: number) =>
    (kept: Kept): string[] =>
      [...kept.accounts].flatMap(([id, account]) => {
        return account.renew(
          holds.flatMap((hold) => (hold.accountId === id ? [hold.holdId] : [])),
          leaseMs,
        );
      }),
  post:
    (request: PostRequest) =>
    (kept: Kept): PostOutcome =>
      kept.note(request, kept.at(request.accountId).post(request)),
  void:
    (hold: HoldRef, end: VoidEnd) =>
    (kept: Kept): VoidOutcome =>
      kept.at(hold.accountId).void(hold.holdId, end),
  settleOrphan:
    (request: PostRequest, origin: HoldOrigin, why: LateReason) =>
    (kept: Kept): PostOutcome =>
      kept.note(request, kept.at(request.accountId).settleOrphan(request, origin, why)),
  voidOrphan:
    (hold: HoldRef, end: VoidEnd, origin: HoldOrigin) =>
    (kept: Kept): VoidOutcome =>
      kept.at(hold.accountId).voidOrphan(hold.holdId, end, origin),
  sweep:
    () =>
    (kept: Kept): string[] =>
      [...kept.accounts.values()].flatMap((account) => account.sweep(null)),
  holdState:
    (hold: HoldRef) =>
    (kept: Kept): HoldState | null =>
      kept.at(hold.accountId).holdState(hold.holdId),
  transaction:
    (account: string, id: string) =>
    (kept: Kept): PostingRow | null => {
      const posting = kept.at(account).postings.find((one) => one.id === id);
      if (posting === undefined) return null;
      const { kind, amount, cents, absorbed, reason } = posting;
      // Readers use nothing more of it.
      const row = { transactionId: id, kind, amountNano: amount, chargedCents: cents, absorbedNano: absorbed, reason };
      return row as unknown as PostingRow;
    },
  account:
    (id: string) =>
    (kept: Kept): AccountRow => {
      const [grantedNano, spentNano] = [kept.at(id).sum("credit"), kept.at(id).sum("charge")];
      return { accountId: id, grantedNano, spentNano } as unknown as AccountRow;
    },
  put({ kind, id, payer, value, ttlMs, ifVersion }: PutRecord) {
    // Identifies a repeated put.
    const put = Symbol();
    return (kept: Kept, atMs: number): number | null => {
      const before = kept.record(kind, id, atMs);
      if (before?.put === put) return before.version;
      if (ifVersion !== null && ifVersion !== (before?.version ?? 0)) return null;
      const version = (before?.version ?? 0) + 1;
      const times = { createdAtMs: before?.createdAtMs ?? atMs, expiresAtMs: ttlMs === null ? null : atMs + ttlMs };
      kept.records.set(`${kind} ${id}`, { kind, id, payer, value, version, put, ...times });
      return version;
    };
  },
  get:
    (kind: string, id: string) =>
    (kept: Kept, atMs: number): StoredRecord | null =>
      kept.record(kind, id, atMs),
  delete:
    (kind: string, id: string) =>
    (kept: Kept, atMs: number): boolean => {
      const wasThere = kept.record(kind, id, atMs) !== null;
      kept.records.delete(`${kind} ${id}`);
      return wasThere;
    },
  /** All of them at once: there are never many. */
  list:
    (kind: string, payer: string) =>
    (kept: Kept, atMs: number): RecordPage => {
      const all = [...kept.records.values()].filter((one) => !isOver(one, atMs));
      return { rows: all.filter((one) => one.kind === kind && one.payer === payer).reverse(), next: null };
    },
};

const READS: readonly string[] = [
  "holdState",
  "transaction",
  "account",
  "get",
  "list",
] satisfies (keyof typeof operations)[];

export interface StoreWatch {
  /** Called after every change, and after a loss. */
  changed(kept: Kept): void;
  expired(holdIds: readonly string[]): void;
}

export class Store {
  kept: Kept;
  /** Grows with every start: a process that sees a new number has met a new server. */
  generation = 0;
  isUp = true;
  /** Holds, keys and records whose last change was ever lost although it had been answered. */
  readonly forgotten = new Set<string>();
  /** The time of its last loss. */
  forgotMs = Number.NEGATIVE_INFINITY;
  readonly #scenario: Scenario;
  readonly #time: VirtualTime;
  readonly #watch: StoreWatch;
  #upSinceMs = -LEASE_MS;
  #done: { readonly atMs: number; durable: boolean; readonly change: Change }[] = [];

  constructor(scenario: Scenario, time: VirtualTime, watch: StoreWatch) {
    this.#scenario = scenario;
    this.#time = time;
    this.#watch = watch;
    this.kept = this.#empty();
  }

  #empty(): Kept {
    return new Kept(this.#scenario.accounts, this.#scenario.startMs);
  }

  /** Applies a change at once; it survives a crash once `durable` has been called. */
  apply<T>(operation: string, change: (kept: Kept, atMs: number) => T): { readonly value: T; durable(): void } {
    const atMs = this.#time.nowMs;
    // No process could renew while it was down.
    const rests = operation === "sweep" && atMs - this.#upSinceMs < LEASE_MS;
    const value = rests ? ([] as T) : (this.#do(change, atMs) as T);
    if (!rests && !READS.includes(operation)) {
      this.#done.push({ atMs, durable: false, change });
      this.#watch.changed(this.kept);
      if (operation === "sweep") this.#watch.expired(value as readonly string[]);
    }
    // What was read must be as durable as what was written.
    const last = this.#done.at(-1);
    return {
      value,
      durable() {
        if (last !== undefined) last.durable = true;
      },
    };
  }

  /** Dies: keeps everything durable, and a share of the rest. */
  crash(keptShare: number): void {
    const safe = this.#done.findLastIndex(({ durable }) => durable) + 1;
    this.#die(safe + Math.floor((this.#done.length - safe) * keptShare));
  }

  /** Dies, and a replacement takes over that lacks the last `lostMs`. */
  forget(lostMs: number): void {
    const from = this.#done.findIndex(({ atMs }) => atMs >= this.#time.nowMs - lostMs);
    const before = facts(this.kept);
    this.#die(from === -1 ? this.#done.length : from);
    const after = facts(this.kept);
    this.forgotMs = this.#time.nowMs;
    for (const [fact, said] of before) if (after.get(fact) !== said) this.forgotten.add(fact);
  }

  start(): void {
    this.isUp = true;
    this.generation++;
    this.#upSinceMs = this.#time.nowMs;
  }

  #die(count: number): void {
    this.isUp = false;
    this.kept = this.#empty();
    this.#done = this.#done.slice(0, count);
    for (const { change, atMs } of this.#done) this.#do(change, atMs);
    this.#watch.changed(this.kept);
  }

  #do(change: Change, atMs: number): unknown {
    for (const account of this.kept.accounts.values()) {
      account.epochMs = this.#scenario.startMs + atMs;
      account.elapsedMs = atMs;
    }
    return change(this.kept, atMs);
  }
}

/** The state of every hold, key and record, in one word each. */
function facts(kept: Kept): Map<string, string> {
  const found = new Map<string, string>();
  for (const account of kept.accounts.values()) {
    for (const holdId of [...account.live.keys(), ...account.ended.keys()])
      found.set(holdId, `${account.holdState(holdId)} ${account.live.get(holdId)?.amount ?? 0}`);
    for (const [key, { hold }] of account.idempotency)
      found.set(key, `${hold.request.holdId} ${hold.state} ${hold.fate}`);
  }
  for (const { id, version } of kept.records.values()) found.set(`answer ${id}`, String(version));
  return found;
}

export type { Kept };

// The money, as the rest of the gateway sees it. Expected outcomes are returned; only a broken store throws.
import type {
  Accounts,
  CeilingPeriod,
  PeriodSums,
  PostedLeg,
  PostingPage,
  PostingQuery,
  PostingRow,
  RefundOutcome,
  ScopeOfPeriod,
  TopUpOutcome,
} from "../../../core/account-rows.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import type { Nano } from "../../../core/money.ts";
import type { Slot } from "../../../core/plan.ts";
import type { TokenUsage } from "../../../core/route.ts";
import type { Reports } from "../../../core/usage-rows.ts";
import type { LedgerEvent } from "./event.ts";
import type { Window } from "./window-list.ts";

/** A hold is found by its account and its id: in Redis both live in the account's slot. */
export interface HoldRef {
  readonly accountId: string;
  /** Made by the gateway before the call; it is also the transaction id of the posting. */
  readonly holdId: string;
}

export interface ReserveRequest extends HoldRef {
  readonly keyId: string;
  /** The hold or job this one belongs to. */
  readonly parentId: string | null;
  readonly amountNano: Nano;
  readonly slots: readonly Slot[];
  /** Counts toward the account's daily inference cap. */
  readonly inference: boolean;
  /** What else counts it, and may refuse it, beside the limits that the store keeps itself; at most 12. */
  readonly windows: readonly Window[];
  /** The process or job that answers for the hold; a job's begins with `job:`, and the job outlives its process. */
  readonly owner: string;
  /** Counted on a clock that only goes forward, and only while the store is up. */
  readonly leaseMs: number;
  /** What the sweep does with a hold whose lease has ended. */
  readonly onExpire: "void" | "post-accrued";
  readonly requestId: string;
  /** `chat`, `embeddings`, `run`. */
  readonly operation: string;
  /** The model or `service/action` that was asked for. */
  readonly asked: string;
  readonly effect: "read" | "write";
  readonly idempotency: { readonly key: string; readonly fingerprint: string; readonly keepMs: number } | null;
  /**
   * Nothing of it need outlive its process, with which it would be voided: a store that one process has for itself keeps it in memory
   * alone. A hold with an idempotency key, or one that is charged when it expires, is written all the same.
   */
  readonly unwritten?: boolean;
  /** The gateway's own clock, for the guard against clock skew. */
  readonly nowMs: number;
  /**
   * The account's bound on requests, counted over all processes where the store is shared; absent: they are counted elsewhere.
   */
  readonly window?: { readonly limit: number; readonly seconds: number };
}

export type ReserveOutcome =
  /** `window` is what the request's own has left, where there is one. */
  | { readonly outcome: "held"; readonly window?: { readonly remaining: number; readonly resetSeconds: number } }
  | { readonly outcome: "exists"; readonly state: HoldState }
  | { readonly outcome: "unknown_account" | "unknown_key" | "frozen" | "paused" | "clock_skew" }
  /** `heldNano` of other calls is in the way when the balance without holds would do: temporary. */
  | { readonly outcome: "insufficient"; readonly freeNano: Nano; readonly heldNano: Nano; readonly balanceNano: Nano }
  | {
      readonly outcome: "ceiling";
      readonly period: CeilingPeriod;
      readonly ceilingNano: Nano;
      readonly spentNano: Nano;
      readonly heldNano: Nano;
      /** What its calls cost above their holds: no payer's charge, and room that is gone until `resetsAtMs`. */
      readonly absorbedNano: Nano;
      readonly resetsAtMs: number;
    }
  | {
      readonly outcome: "inference_cap";
      readonly capNano: Nano;
      readonly spentNano: Nano;
      readonly heldNano: Nano;
      readonly absorbedNano: Nano;
      readonly resetsAtMs: number;
    }
  /** A window that the request brought has no room. `maxNano` is its bound with what has widened it. */
  | {
      readonly outcome: "window_full";
      readonly scope: string;
      readonly counts: Window["counts"];
      readonly code: ErrorCode;
      readonly maxNano: Nano;
      readonly spentNano: Nano;
      readonly heldNano: Nano;
      readonly absorbedNano: Nano;
      readonly resetsAtMs: number;
    }
  | { readonly outcome: "slots"; readonly code: ErrorCode; readonly max: number }
  | { readonly outcome: "window"; readonly limit: number; readonly resetSeconds: number }
  /** The hold of the call that runs under the same key. */
  | { readonly outcome: "idempotency_in_progress"; readonly holdId: string }
  | { readonly outcome: "idempotency_mismatch" }
  /** Finished before under the same key: its posting, for replay. */
  | { readonly outcome: "idempotency_done"; readonly holdId: string }
  /** A write under the same key was running when its process died: never run again. */
  | { readonly outcome: "idempotency_unknown"; readonly holdId: string };

export type HoldState = "held" | "posted" | "voided" | "expired";

/** What a posting does not say of its call, and its windows of cost count all the same. */
export interface CostBeside {
  /** What another posting has charged for the same work, which did not tell what that cost us. */
  readonly chargedNano: Nano;
  /** Work of our own, for which no vendor takes anything from us. */
  readonly costNano: Nano;
}

export interface PostRequest extends HoldRef {
  readonly amountNano: Nano;
  readonly upstreamNano: Nano;
  /** Why part of the cost is not the payer's; counted when `amountNano` exceeds the hold. */
  readonly absorbReason: string;
  /** The adapter that served. */
  readonly provider: string;
  /** The model or `service/action` that served. */
  readonly served: string;
  readonly usage: TokenUsage | null;
  readonly estimated: boolean;
  readonly priceVersion: string;
  /** They add up to `upstreamNano` where there are any. Many are summed before they are kept. */
  readonly legs: readonly PostedLeg[];
  /** What the caller has called it, as `name=value`; absent: nothing. */
  readonly tags?: readonly string[];
  /** What counts in windows of cost beside what it says of charge and cost; absent: nothing. */
  readonly beside?: CostBeside | undefined;
  /** What is to be paid was kept before: the caller comes again until it is, so that a post which fails is no failed call. */
  readonly decided?: true;
}

export interface PostedCharge {
  readonly chargedNano: Nano;
  readonly chargedCents: number;
  readonly absorbedNano: Nano;
  /** Granted - spent of the account after the posting; null where the store could not be asked. */
  readonly balanceNano: Nano | null;
  /** Only by this posting have the account's bounds become strict: what is remembered of the account is to be read again. */
  readonly strict?: true;
  /** This posting has passed marks of what its hold had brought: what follows from where a budget stands is to be read again. */
  readonly marked?: true;
}

export type PostOutcome =
  /** `repeat`: the hold had been posted before, and this is what was stored then. */
  | ({ readonly outcome: "posted"; readonly repeat: boolean } & PostedCharge)
  /** The store is away: the charge is in the spool and will be posted. Nano are what it will be, cents the most it can be. */
  | ({ readonly outcome: "spooled" } & PostedCharge)
  | { readonly outcome: "missing" }
  | { readonly outcome: "voided" | "expired" };

/**
 * What the idempotency key of a voided call means: `free` for another try; `answered`, its refusal is kept for replay;
 * `unknown`, a write may have happened and is never run again.
 */
export type KeyFate = "free" | "answered" | "unknown";

/** How a hold ends that is not charged. */
export interface VoidEnd {
  /** What the call's idempotency key means from then on; absent: `free`. */
  readonly keyFate?: KeyFate;
  /** What vendors have taken from us for the call all the same; absent: nothing. */
  readonly upstreamNano?: Nano;
}

export type VoidOutcome = { readonly outcome: "voided" | "exists" | "posted" | "expired" };

export type ExtendOutcome =
  | { readonly outcome: "extended"; readonly amountNano: Nano }
  | { readonly outcome: "gone"; readonly state: HoldState | "missing" }
  | { readonly outcome: "unknown_key" | "frozen" | "paused" }
  | Extract<ReserveOutcome, { readonly outcome: "insufficient" | "ceiling" | "inference_cap" | "window_full" }>;

/** Whether what a hold was placed for may go on: its key and its account may still pay. */
export type Standing = "good" | "gone" | "unknown_key" | "frozen" | "paused";

/** A broken invariant, as `tollgate doctor` tells it. */
export interface Finding {
  /** `I1` to `I15`, `file` or `spool`. */
  readonly invariant: string;
  readonly accountId: string | null;
  readonly detail: string;
}

export interface DoctorReport {
  readonly accounts: number;
  readonly holds: number;
  readonly postings: number;
  readonly findings: readonly Finding[];
}

/** Totals for the metrics. */
export interface LedgerTotals {
  readonly accounts: number;
  readonly holdsOpen: number;
  readonly heldNano: Nano;
  /** As text: all accounts together may have more than a number counts exactly. */
  readonly spentNano: string;
  readonly absorbedNano: string;
  /** The part of it that is play money of sandbox accounts. */
  readonly play: { readonly heldNano: Nano; readonly spentNano: string };
}

/** What holds take and postings charge, and the credit that they are taken from. */
export interface Money {
  reserve(request: ReserveRequest): Promise<ReserveOutcome>;
  /**
   * Grows a hold to `amountNano` where it has less, in its own windows; notes what has been used of it, which is never more than
   * it will cost; and gives it a new lease. Refused as a whole; where the hold has as much already it is never refused.
   */
  extend(hold: HoldRef, amountNano: Nano, accrued: Nano, leaseMs: number): Promise<ExtendOutcome>;
  /** Before a hold is used on that was placed long ago. `isPatient`: who asks has some milliseconds. */
  standing(hold: HoldRef, manner?: { readonly isPatient: true }): Promise<Standing>;
  /** New leases for many holds at once; answers the ids that are no longer held. */
  renew(holds: readonly HoldRef[], leaseMs: number): Promise<readonly string[]>;
  /**
   * Frees a hold whose end was refused, on a full disk too: at once, or with the next sweep where it has a row. Left out: ends that are
   * refused are kept elsewhere and told again.
   */
  letGo?(hold: HoldRef): Promise<null>;
  post(request: PostRequest): Promise<PostOutcome>;
  /** Releases a hold. A hold that is not there leaves a tombstone, so that a delayed reserve is refused. */
  void(hold: HoldRef, reason: string, end?: VoidEnd): Promise<VoidOutcome>;
  /** Ends holds whose lease has ended; with `onlyOwner`, at start, also those of any other process, which must be dead. */
  sweep(countMax: number, onlyOwner?: string): Promise<readonly string[]>;

  /** Adds credit; a repeated reference answers `exists` and adds nothing. */
  topUp(accountId: string, transactionId: string, amountNano: Nano, reference: string): Promise<TopUpOutcome>;
  /** Gives a charge back, once. */
  refund(transactionId: string, refundId: string, reason: string): Promise<RefundOutcome>;
}

/** What is there to be read, proven and copied. */
export interface Audit {
  transaction(accountId: string | null, transactionId: string): Promise<PostingRow | null>;
  /** Newest first, without their legs. */
  transactions(query: PostingQuery): Promise<PostingPage>;
  /** What each of these scopes of an account has spent on the account's present day. */
  spentToday(accountId: string, scopes: readonly string[]): Promise<readonly Nano[]>;
  /** What each of these scopes has come to in the account's present period. */
  periodSums(accountId: string, asked: readonly ScopeOfPeriod[]): Promise<readonly PeriodSums[]>;
  totals(): Promise<LedgerTotals>;
  /**
   * Verifies every invariant while calls go on. With `file`, the store's own file as well, which stops calls for as long
   * as it takes to read it: for when the gateway is down.
   */
  doctor(options?: { readonly file: boolean }): Promise<DoctorReport>;
  /** Writes a consistent copy to `path`, which must not exist. */
  backup(path: string): Promise<void>;
}

/** What has happened to money, until it is taken further: told at least once, each with one id. */
export interface Told {
  /** Up to so many, of any accounts. */
  events(countMax: number): Promise<readonly LedgerEvent[]>;
  /** They are kept elsewhere now. */
  dropEvents(events: readonly LedgerEvent[]): Promise<void>;
}

/** All of it; a part that needs less takes one of the five. */
export interface Ledger extends Money, Accounts, Audit, Reports, Told {
  close(): Promise<void>;
}

/** What a hold was placed with: enough to charge for it where the store has lost it. */
export type HoldOrigin = Pick<
  ReserveRequest,
  | ("keyId" | "parentId" | "amountNano" | "inference" | "windows" | "nowMs")
  | ("requestId" | "operation" | "asked" | "effect" | "idempotency")
>;

/** Why a charge is made without a hold: the store has lost it, or its lease ended while its process could not reach the store. */
export type LateReason = "orphan" | "late";

/** A ledger in a store of its own, which can lose what it has acknowledged. */
export interface SharedLedger extends Ledger {
  /**
   * Posts for a hold that the store has lost, or whose lease ended before it was posted: as much as is free in the account, the
   * key's period, under the inference cap and in the windows that were brought, at most the hold; the rest is absorbed. `why` becomes the posting's reason. A hold that is
   * live, posted or voided is answered as by `post`.
   */
  settleOrphan(request: PostRequest, origin: HoldOrigin, why: LateReason): Promise<PostOutcome>;
  /** As `void`; where the hold is lost, its idempotency key is given the fate that it had, and what it cost is counted in its windows. */
  voidOrphan(hold: HoldRef, end: VoidEnd, origin: HoldOrigin): Promise<VoidOutcome>;
  /** How a hold stands; null where nothing is known of it. */
  holdState(hold: HoldRef): Promise<HoldState | null>;
}

// The ledger's interface. Expected outcomes are return values; only a broken store throws.
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

/** Identifies a hold by account and id: in Redis both are in the account's slot. */
export interface HoldRef {
  readonly accountId: string;
  /** Made by the gateway before the call; also the posting's transaction id. */
  readonly holdId: string;
}

export interface ReserveRequest extends HoldRef {
  readonly keyId: string;
  /** The hold or job that this hold belongs to. */
  readonly parentId: string | null;
  readonly amountNano: Nano;
  readonly slots: readonly Slot[];
  /** Counts toward the account's daily inference cap. */
  readonly inference: boolean;
  /** Further windows that count the hold and may refuse it, beside the limits that the store keeps itself. */
  readonly windows: readonly Window[];
  /** The process or job responsible for the hold. A job's owner begins with `job:`, and outlives its process. */
  readonly owner: string;
  /** Measured on a monotonic clock, and only while the store is up. */
  readonly leaseMs: number;
  /** What the sweeper does once the lease has ended. */
  readonly onExpire: "void" | "post-accrued";
  readonly requestId: string;
  /** `chat`, `embeddings`, `run`. */
  readonly operation: string;
  /** The requested model or `service/action`. */
  readonly asked: string;
  readonly effect: "read" | "write";
  readonly idempotency: { readonly key: string; readonly fingerprint: string; readonly keepMs: number } | null;
  /**
   * The hold need not survive its process, whose end would void it: a store with one process keeps it in memory. Holds with an idempotency
   * key, and holds that are charged on expiry, are written anyway.
   */
  readonly unwritten?: boolean;
  /** The id was made for this request and nothing else has named it, so no store needs to look for its past. */
  readonly isNew?: boolean;
  /** The gateway's clock, to detect clock skew. */
  readonly nowMs: number;
  /** The account's request rate limit, counted across processes where the store is shared; absent where requests are counted elsewhere. */
  readonly window?: { readonly limit: number; readonly seconds: number };
}

/** A period without room is refused with its sums: what calls cost above their holds uses room too, and no payer is charged for it. */
export type ReserveOutcome =
  /** `window` is what is left of the request's rate limit, where it has one; `runLeftNano` what the hold's runs have not spent. */
  | {
      readonly outcome: "held";
      readonly window?: { readonly remaining: number; readonly resetSeconds: number };
      readonly runLeftNano?: Nano;
    }
  | { readonly outcome: "exists"; readonly state: HoldState }
  | { readonly outcome: "unknown_account" | "unknown_key" | "frozen" | "paused" | "clock_skew" }
  /** The balance would cover the amount without the `heldNano` of other calls, so this refusal is temporary. */
  | { readonly outcome: "insufficient"; readonly freeNano: Nano; readonly heldNano: Nano; readonly balanceNano: Nano }
  | (PeriodSums & { readonly outcome: "ceiling"; readonly period: CeilingPeriod; readonly ceilingNano: Nano })
  | (PeriodSums & { readonly outcome: "inference_cap"; readonly capNano: Nano })
  /** One of the request's own windows has no room. `maxNano` is its bound, widening included. */
  | (PeriodSums & {
      readonly outcome: "window_full";
      readonly scope: string;
      readonly counts: Window["counts"];
      readonly code: ErrorCode;
      readonly maxNano: Nano;
    })
  | { readonly outcome: "slots"; readonly code: ErrorCode; readonly max: number }
  | { readonly outcome: "window"; readonly limit: number; readonly resetSeconds: number }
  /** The hold of the running call with the same key. */
  | { readonly outcome: "idempotency_in_progress"; readonly holdId: string }
  | { readonly outcome: "idempotency_mismatch" }
  /** A finished call with the same key: its posting, for replay. */
  | { readonly outcome: "idempotency_done"; readonly holdId: string }
  /** A write with the same key was running when its process died; it must not run again. */
  | { readonly outcome: "idempotency_unknown"; readonly holdId: string };

export type HoldState = "held" | "posted" | "voided" | "expired";

/** Amounts that windows of cost count although the posting itself does not show them. */
export interface CostBeside {
  /** Charged for the same work by another posting, which did not know our cost. */
  readonly chargedNano: Nano;
  /** Our own work, for which no vendor charges us. */
  readonly costNano: Nano;
}

export interface PostRequest extends HoldRef {
  readonly amountNano: Nano;
  readonly upstreamNano: Nano;
  /** Why the payer does not pay part of the cost; counted where `amountNano` exceeds the hold. */
  readonly absorbReason: string;
  /** The adapter that served the call. */
  readonly provider: string;
  /** The model or `service/action` that served the call. */
  readonly served: string;
  readonly usage: TokenUsage | null;
  readonly estimated: boolean;
  readonly priceVersion: string;
  /** Sum to `upstreamNano` unless empty. Long lists are summarized before they are stored. */
  readonly legs: readonly PostedLeg[];
  /** The caller's tags, as `name=value`; absent where there are none. */
  readonly tags?: readonly string[];
  /** Further amounts for windows of cost, beyond the posting's charge and cost; absent where there are none. */
  readonly beside?: CostBeside | undefined;
  /** The payment was recorded before, and its caller retries until it is posted, so a failed post is not a failed call. */
  readonly decided?: true;
}

export interface PostedCharge {
  readonly chargedNano: Nano;
  readonly chargedCents: number;
  readonly absorbedNano: Nano;
  /** The account's balance (granted - spent) after the posting; null where the store could not be reached. */
  readonly balanceNano: Nano | null;
  /** This posting made the account's bounds strict: reload what is cached of the account. */
  readonly strict?: true;
  /** What the hold's run, or the one of its ancestors with the least, has not spent; absent where it is in no run. */
  readonly runLeftNano?: Nano;
  /** This posting passed a mark of one of its hold's windows: reload what depends on the budget's state. */
  readonly marked?: true;
}

export type PostOutcome =
  /** `repeat`: the hold was posted before; this is the stored result. */
  | ({ readonly outcome: "posted"; readonly repeat: boolean } & PostedCharge)
  /** The store is down: the charge is in the spool and will be posted. Nano amounts are exact; cents are an upper bound. */
  | ({ readonly outcome: "spooled" } & PostedCharge)
  | { readonly outcome: "missing" }
  | { readonly outcome: "voided" | "expired" };

/** What a voided call leaves under its key. `free`: try again. `answered`: a refusal is replayed. `unknown`: it may have written. */
export type KeyFate = "free" | "answered" | "unknown";

export interface VoidEnd {
  /** The fate of the call's idempotency key; absent: `free`. */
  readonly keyFate?: KeyFate;
  /** What vendors charged us for the call anyway; absent where nothing. */
  readonly upstreamNano?: Nano;
}

export type VoidOutcome = { readonly outcome: "voided" | "exists" | "posted" | "expired" };

export type ExtendOutcome =
  | { readonly outcome: "extended"; readonly amountNano: Nano }
  | { readonly outcome: "gone"; readonly state: HoldState | "missing" }
  | { readonly outcome: "unknown_key" | "frozen" | "paused" }
  | Extract<ReserveOutcome, { readonly outcome: "insufficient" | "ceiling" | "inference_cap" | "window_full" }>;

/** Whether a hold's work may continue: its key and account can still pay. */
export type Standing = "good" | "gone" | "unknown_key" | "frozen" | "paused";

/** A broken invariant, as `tollgate doctor` reports it. */
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

export interface LedgerTotals {
  readonly accounts: number;
  readonly holdsOpen: number;
  readonly heldNano: Nano;
  /** A decimal string: the sum over all accounts may exceed exact numbers. */
  readonly spentNano: string;
  readonly absorbedNano: string;
  readonly play: { readonly heldNano: Nano; readonly spentNano: string };
}

export interface Money {
  reserve(request: ReserveRequest): Promise<ReserveOutcome>;
  /** Grows a hold within its windows, records its use, and renews its lease; refused as a whole, never where it is large enough. */
  extend(hold: HoldRef, amountNano: Nano, accrued: Nano, leaseMs: number): Promise<ExtendOutcome>;
  /** Checks a hold placed long ago before it is used. `isPatient`: the caller can wait some milliseconds. */
  standing(hold: HoldRef, manner?: { readonly isPatient: true }): Promise<Standing>;
  /** Renews many leases at once; returns the ids that are no longer held. */
  renew(holds: readonly HoldRef[], leaseMs: number): Promise<readonly string[]>;
  /** Frees a hold whose end could not be written, even on a full disk. Absent where failed ends are stored elsewhere and retried. */
  letGo?(hold: HoldRef): Promise<null>;
  post(request: PostRequest): Promise<PostOutcome>;
  /** Releases a hold. An unknown hold leaves a tombstone that refuses a delayed reserve. */
  void(hold: HoldRef, reason: string, end?: VoidEnd): Promise<VoidOutcome>;
  /** Ends holds with expired leases; with `onlyOwner`, at start, also those of all other processes, which must be dead. */
  sweep(countMax: number, onlyOwner?: string): Promise<readonly string[]>;

  /** Adds credit. A repeated reference returns `exists` and adds nothing. */
  topUp(accountId: string, transactionId: string, amountNano: Nano, reference: string): Promise<TopUpOutcome>;
  /** Refunds a charge, once. */
  refund(transactionId: string, refundId: string, reason: string): Promise<RefundOutcome>;
}

export interface Audit {
  transaction(accountId: string | null, transactionId: string): Promise<PostingRow | null>;
  /** Newest first, without legs. */
  transactions(query: PostingQuery): Promise<PostingPage>;
  /** What each scope has spent on the account's current day. */
  spentToday(accountId: string, scopes: readonly string[]): Promise<readonly Nano[]>;
  periodSums(accountId: string, asked: readonly ScopeOfPeriod[]): Promise<readonly PeriodSums[]>;
  totals(): Promise<LedgerTotals>;
  /** Verifies every invariant while calls continue. With `file`, also the store's file, which blocks calls. */
  doctor(options?: { readonly file: boolean }): Promise<DoctorReport>;
  /** Writes a consistent copy to `path`, which must not exist. */
  backup(path: string): Promise<void>;
}

/** Ledger events, kept until they are delivered: each at least once, always with the same id. */
export interface Told {
  /** Up to `countMax` events, of any accounts. */
  events(countMax: number): Promise<readonly LedgerEvent[]>;
  /** Drops events that are now stored elsewhere. */
  dropEvents(events: readonly LedgerEvent[]): Promise<void>;
}

/** The whole ledger; a part that needs less takes one of the five interfaces. */
export interface Ledger extends Money, Accounts, Audit, Reports, Told {
  close(): Promise<void>;
}

/** The request that placed a hold: enough to charge for it after the store has lost it. */
export type HoldOrigin = Pick<
  ReserveRequest,
  | ("keyId" | "parentId" | "amountNano" | "inference" | "windows" | "nowMs")
  | ("requestId" | "operation" | "asked" | "effect" | "idempotency")
>;

/** Why a charge has no hold: the store lost it, or its lease ended while its process could not reach the store. */
export type LateReason = "orphan" | "late";

/** A ledger on a shared store, which can lose what it has acknowledged. */
export interface SharedLedger extends Ledger {
  /**
   * Posts for a hold that the store lost, or whose lease ended before it was posted: as much as the account, the key's period, the
   * inference cap and the hold's windows have free, at most the hold. The rest is absorbed. `why` becomes the posting's reason. A hold
   * that is live, posted or voided is answered as by `post`.
   */
  settleOrphan(request: PostRequest, origin: HoldOrigin, why: LateReason): Promise<PostOutcome>;
  /** As `void`. Where the hold is lost, sets its idempotency key's fate, and counts its cost in its windows. */
  voidOrphan(hold: HoldRef, end: VoidEnd, origin: HoldOrigin): Promise<VoidOutcome>;
  /** A hold's state; null where the hold is unknown. */
  holdState(hold: HoldRef): Promise<HoldState | null>;
}

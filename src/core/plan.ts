// The vocabulary of a paid call: payer, cost limit, funds, and outcome. Types only.
import type { CeilingPeriod } from "./account-rows.ts";
import type { ErrorCode, GatewayError } from "./errors.ts";
import type { Nano } from "./money.ts";
import type { Candidate, FinalPart, Leg, Reading, Route, TokenUsage } from "./route.ts";
import type { CallRun, RunRules } from "./run.ts";

/** The payer of a call: an account, or an address that paid on chain. `id` is the key under which everything it owns is stored. */
export interface Payer {
  readonly id: `acct:${string}` | `x402:${string}`;
  /** A sandbox account's calls run the same code with play credit, and never reach a vendor. */
  readonly sandbox: boolean;
  /** The run that its work is part of; absent: none. */
  readonly runId?: string;
}

/** A payer with a balance here. */
export interface AccountPayer extends Payer {
  readonly id: `acct:${string}`;
  readonly accountId: string;
  readonly keyId: string;
}

export function isAccountPayer(payer: Payer): payer is AccountPayer {
  return "accountId" in payer;
}

/** What a credential may call; null: everything. */
export interface Allowed {
  readonly services: readonly string[] | null;
  readonly models: readonly string[] | null;
}

/** A limit per day, week or month, for an account, a group or a tag. The ledger keeps a key's ceiling; a key's budget only sets marks. */
export interface Budget {
  /** The ledger's name of the scope: `account`, `group:<id>`, `tag:<a hash of it>` or `key:<id>`. */
  readonly scope: string;
  /** For display, such as `group research`. */
  readonly whose: string;
  readonly period: CeilingPeriod;
  /** Null: counts spending without limiting it. */
  readonly maxNano: Nano | null;
  /** Only calls with this tag count. */
  readonly tag?: string;
}

/** The rate limit per minute of a key, or of all keys of a group; null: no limit. */
export interface Rate {
  readonly scope: string;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

/** Serves calls one tier below the requested one until a given time, because a budget has reached the level its owner chose. */
export interface Lowering {
  readonly untilMs: number;
  /** Only calls with this tag. */
  readonly tag?: string;
}

export interface OwnKey {
  readonly key: string;
  readonly accountId: string;
  /** Use our keys if it cannot serve a call. */
  readonly fallback: boolean;
  /** The fee for calls with it, as a percentage of the listed price. */
  readonly feePercent: number;
}

/** The audience of a plan. The payer may be unknown until the plan has a price, because anonymous callers must see the price first. */
export interface Audience {
  readonly sandbox: boolean;
  readonly payer: Payer | null;
  readonly allows: Allowed;
  /** The account has exceeded its holds too often: its holds are computed from bytes, never from a tighter count. */
  readonly strictBounds: boolean;
  /** The account's own keys, by provider; absent: none. */
  readonly ownKeys?: ReadonlyMap<string, OwnKey>;
  /** Absent: none. */
  readonly lowerings?: readonly Lowering[];
}

/** An authenticated caller: the payer, and what the account and its key allow. */
export interface Caller extends Audience {
  readonly payer: AccountPayer;
  readonly primary: boolean;
  readonly paused: boolean;
  readonly frozen: boolean;
  readonly requestsPerMinute: number;
  readonly inFlightMax: number;
  readonly inferenceCapNano: Nano;
  /** Budgets its calls count toward, besides its key's ceiling; absent: none. */
  readonly budgets?: readonly Budget[];
  /** Rates its calls count toward, besides the account's; absent: none. */
  readonly rates?: readonly Rate[];
  /** How long its answers are cached for the same question, unless the request says otherwise; absent: not at all. */
  readonly cacheSeconds?: number;
  /** Logs the bodies and answers of its calls. Absent: they are not logged. */
  readonly logsCalls?: true;
  /** The run of its calls; absent: none. */
  readonly run?: CallRun;
  /** The run that its credential names, as a suffix or for good; absent: none. */
  readonly carriedRun?: string;
  /** Its calls must be part of a run. */
  readonly runRequired?: true;
  /** Each session that its calls name becomes a run with this budget; absent: none. */
  readonly sessionBudgetNano?: Nano;
  /** The rules of runs that it opens; absent: none. */
  readonly runRules?: RunRules;
  /** Whether its key may be used from an address; absent: from any. */
  isFrom?(address: string): boolean;
  /** The balance below which the account's owner is notified; absent: never. */
  readonly lowBalanceNano?: Nano;
}

/** A limit on concurrent calls, taken and freed in the hold's own transaction. */
export interface Slot {
  readonly scope: string;
  readonly max: number;
  readonly code: ErrorCode;
}

/** The most a request may cost, and ways to lower that if money is short. */
export interface Quote {
  readonly nano: Nano;
  /** Computes a tighter limit at some cost (a real token count); called only after `nano` was refused. Null if there is none. */
  readonly tighten: (() => Promise<Nano>) | null;
  /** The same call for at most `free`, without dearer candidates; null: none is left. Called only after all else was refused. */
  within?(free: Nano): Within | null;
  /** The same call for a part of `free`, so that a long answer does not hold the whole balance. Null if `free` does not suffice. */
  share?(free: Nano): Promise<Within | null>;
  /** What `free` would pay for in the caller's units, such as `affordable_output_tokens`. */
  affordable(free: Nano): Readonly<Record<string, number>>;
  /** The most tokens it can use, input and output, for token rate limits; absent if it uses none. */
  tokensMax?(): number;
  /** The most it can cost us, for a parent whose limit counts our cost. */
  upstreamNano(): Nano;
}

/** A reduced plan where money is short: the most it can cost, and a route of the candidates that remain. */
export interface Within {
  readonly nano: Nano;
  readonly route: Route;
}

/**
 * What a plan holds before anything is sent. `none`: nothing, and nothing is written. `call`: the quote, until the answer has been served.
 * `kept`: the quote, as the budget of work that outlives the request; settling hands the hold over to the work's record.
 */
export type HoldSpec = { readonly kind: "none" } | { readonly kind: "call" } | KeptHoldSpec;

export interface KeptHoldSpec {
  readonly kind: "kept";
  /** The record that continues the work: a job or a session. It owns the hold, so process starts do not end it. */
  readonly owner: `job:${string}`;
  /** How long the hold lives without renewal, in milliseconds. */
  readonly leaseMs: number;
  /** What happens to a hold that is no longer renewed. */
  readonly onExpire: "void" | "post-accrued";
  /** The kind of work that continues. */
  readonly job: string;
  /** The action that starts it, `<service>/<action>`; its charges are booked under that name. */
  readonly action: string;
  /** The work's input, as JSON. */
  readonly start: unknown;
  readonly tags?: readonly string[];
  readonly sandboxFault: string | null;
  /** The trace id of the caller; absent: none. */
  readonly callerTraceId?: string;
  /** Set for work that may outlast this hold: the parameters of later holds under the same parent. */
  readonly chain?: HoldChain;
}

export interface HoldChain {
  /** The id of the first hold, the parent of the others. */
  readonly firstId: string;
  readonly keyId: string;
  readonly asked: string;
  readonly slots: readonly Slot[];
  readonly onExpire: KeptHoldSpec["onExpire"];
  /** The operation of their postings. Default: `run`. */
  readonly operation?: string;
  /** They count toward the account's daily inference cap. */
  readonly inference?: true;
}

/** The charge for an action that a model called within its answer. */
export interface ActionUse {
  /** `<service>/<action>`. */
  readonly action: string;
  readonly cents: number;
  readonly ok: boolean;
}

export interface Cost {
  readonly chargeNano: Nano;
  readonly upstreamNano: Nano;
  readonly usage: TokenUsage | null;
  /** No usage was reported, so we counted ourselves. */
  readonly estimated: boolean;
  readonly priceVersion: string;
  /** The actions included in the cost; absent if the call could have none. */
  readonly actions?: readonly ActionUse[];
}

export interface Charge {
  /** Null if the call was free: nothing was written. */
  readonly transactionId: string | null;
  readonly chargedNano: Nano;
  readonly chargedCents: number;
  readonly absorbedNano: Nano;
  /** Why we bear part of the cost; null if we do not. */
  readonly absorbReason: string | null;
  /** The payer's balance afterwards; null if unknown. */
  readonly balanceNano: Nano | null;
  /** Response headers for the payer, such as a receipt. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call that is ready for the kernel. Everything that varies between endpoints, vendors and models is data here. */
export interface Plan {
  /** The metric label of the operation: `chat`, `embeddings`, `run`. */
  readonly operation: string;
  /** The requested model or action, as the caller named it. */
  readonly asked: string;
  readonly streamed: boolean;
  /** A write is never sent twice. */
  readonly effect: "read" | "write";
  readonly quote: Quote;
  readonly hold: HoldSpec;
  /** Allowed for a paused key. */
  readonly whilePaused: boolean;
  /** The caller's own cost limit; null: none. */
  readonly maxCostNano: Nano | null;
  /** The price is exactly the quote, or zero, so it can be stated before the call runs. */
  readonly exactPrice?: boolean;
  /** Limits besides the account's calls in flight. */
  readonly slots: readonly Slot[];
  /** Whether the call counts toward the account's daily inference cap. */
  readonly inference: boolean;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /** Answered unless an earlier call under the same key can be replayed; this call does not run. Absent: it may run. */
  readonly onlyAgain?: GatewayError;
  /** The caller's tags, for the posting; absent: none. */
  readonly tags?: readonly string[];
  readonly route: Route;
  readonly wholeMsMax: number;
  readonly attemptsMax: number;
  /** The HTTP status of `upstream_error` if every route failed, and if time ran out. */
  readonly failedStatus: number;
  readonly timedOutStatus: number;
  /** The HTTP status if providers' limits were the only reason that every route failed. Default: as for any failure. */
  readonly limitedStatus?: number;
  /** If the caller leaves: abort the upstream and charge what was delivered, or let it finish and charge everything. */
  readonly whenCallerLeaves: "abort" | "finish";
  /**
   * Computes the cost of an attempt's answer, complete or partial. `left`: the answer did not finish, and the delivered part is charged.
   * Called for the attempt that served, and, for our own cost, for every other one that a vendor had accepted.
   */
  cost(candidate: Candidate, reading: Reading, ended: "whole" | "left"): Cost | Promise<Cost>;
  /** Learns that the answer has begun, so that no further attempt follows: frees what only attempts need. Absent: nothing to free. */
  begun?(served: Candidate): void;
  /** Learns which candidate served. Absent: it does not matter. */
  served?(candidate: Candidate): void;
  /** Inspects a whole answer before anything is stored. With an error nothing is charged, and we bear the vendor's cost. */
  screen?(final: FinalPart): Promise<FinalPart | GatewayError>;
  /**
   * Stores what must be kept before the charge, such as the owner of an issued id. Returns the answer for the caller, or an error in its
   * place; that call is charged too, because the vendor has done its work. Null: nothing to store.
   */
  readonly prepare:
    | ((final: FinalPart, served: Candidate, reading: Reading) => Promise<FinalPart | GatewayError>)
    | null;
}

/**
 * A plan that has a price before its payer is known. Steps that need the payer (checking who owns an id, linking files, storing the
 * answer) are added once the kernel knows it. So a stranger can see the price before paying, and is never mistaken for another.
 */
export interface OpenPlan
  extends Pick<Plan, "operation" | "asked" | "streamed" | "whilePaused" | "quote" | "tags" | "exactPrice"> {
  /** Throws where this payer may not run it. */
  forPayer(payer: Payer): Plan | Promise<Plan>;
}

export interface Held {
  readonly id: string;
  readonly amountNano: Nano;
  /** The candidates that it pays for, if not all of the plan's. */
  readonly route?: Route;
}

/** The call already ran under the same Idempotency-Key, as this transaction. */
export interface Repeated {
  readonly replayOf: string;
}

export interface Capture {
  readonly cost: Cost;
  readonly served: Candidate;
  readonly legs: readonly Leg[];
  readonly tags?: readonly string[];
}

/** What an uncharged call does to its Idempotency-Key. `answered`: its refusal is kept; `unknown`: a write may have happened. */
export type KeyFate = "free" | "answered" | "unknown";

/** Why a call is not charged, and what it cost us anyway. */
export interface Release {
  readonly reason: string;
  readonly keyFate: KeyFate;
  readonly legs: readonly Leg[];
}

/** The source of a plan's money: a ledger balance, a parent's hold, or a payment on chain. */
export interface Funds {
  /** Holds the quote under `id`, as part of `parent` if given; returns an error if it cannot. */
  reserve(plan: Plan, id: string, parent: string | null): Promise<Held | Repeated | GatewayError>;
  /** Charges the cost, at most the hold. An error: not charged, so the answer is withheld. Rejects if the outcome is unknown. */
  capture(held: Held, capture: Capture): Promise<Charge | GatewayError>;
  release(held: Held, release: Release): Promise<void>;
  /** The payer's balance; null if unknown. */
  balance(): Promise<Nano | null>;
  /** The charge of an earlier call, for its replay; null if unknown. */
  charged(id: string): Promise<Charge | null>;
}

export interface AnswerReader {
  /** The reader has left. */
  readonly closed: boolean;
  /** Calls `listener` once if the reader leaves before the end. */
  onGone(listener: () => void): void;
  onRoom(listener: () => void): void;
  admitted(): void;
  /** Content of `served` follows. Called once, before the first `write`. */
  begin(served: Candidate, legs: readonly Leg[]): void;
  /** Returns false if the reader is slow: write no more until `onRoom` calls. */
  write(bytes: Uint8Array): boolean;
}

export type Outcome =
  | "success"
  | "replayed"
  | "refused"
  | "failed"
  | "broken"
  | "left_before_content"
  | "left_after_content";

export interface Ended {
  readonly id: string;
  readonly outcome: Outcome;
  /** The error for the caller; null if there is an answer, or the caller has left. */
  readonly error: GatewayError | null;
  /** The last part of the answer, or all of it. */
  readonly final: FinalPart | null;
  readonly served: Candidate | null;
  /** The reading of the attempt that served; null if none did. */
  readonly reading: Reading | null;
  readonly cost: Cost | null;
  readonly charge: Charge | null;
  readonly heldNano: Nano;
  readonly legs: readonly Leg[];
  /** In `clock.elapsedMs()` time; null if no content came. */
  readonly firstContentMs: number | null;
  readonly skippedEvents: number;
  /** The answer or error is a replay, stored under the Idempotency-Key of an earlier call. */
  readonly isReplay: boolean;
}

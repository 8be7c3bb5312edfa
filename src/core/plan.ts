// The words of a paid call: who pays, the most it may cost, what funds do with it, how it ended. Types and nothing else.
import type { CeilingPeriod } from "./account-rows.ts";
import type { ErrorCode, GatewayError } from "./errors.ts";
import type { Nano } from "./money.ts";
import type { Candidate, FinalPart, Leg, Reading, Route, TokenUsage } from "./route.ts";

/** Who pays for a call: an account, or an address that paid on chain. `id` keys all that is owned. */
export interface Payer {
  readonly id: `acct:${string}` | `x402:${string}`;
  /** A sandbox account's calls take the same path with play credit and never reach a vendor. */
  readonly sandbox: boolean;
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

/**
 * What calls may come to in a day, week or month: those of an account, of a group of its keys, or with a tag. Of the key alone, whose
 * ceiling the ledger keeps itself, it has marks and bounds nothing.
 */
export interface Budget {
  /** As the ledger counts it: `account`, `group:<id>`, `tag:<a hash of it>` or `key:<id>`. */
  readonly scope: string;
  /** For people, such as `group research`. */
  readonly whose: string;
  readonly period: CeilingPeriod;
  /** Null: counted, and bounds nothing. */
  readonly maxNano: Nano | null;
  /** Only calls with this tag count. */
  readonly tag?: string;
}

/** How much may be asked for in a minute by a key, or by all keys of a group; null: no bound. */
export interface Rate {
  readonly scope: string;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

/** Until when calls are served by the tier below the one that they name, because a budget has come to where its owner wants that. */
export interface Lowering {
  readonly untilMs: number;
  /** Only calls with this tag. */
  readonly tag?: string;
}

/** A key of an account's own at a provider. */
export interface OwnKey {
  readonly key: string;
  readonly accountId: string;
  /** Where it does not serve a call, ours do. */
  readonly fallback: boolean;
  /** What calls by it are charged, in percent of the listed price. */
  readonly feePercent: number;
}

/** Whom a plan is made for. Who pays may be unknown until the plan has its price, because the price is what a stranger is asked for. */
export interface Audience {
  readonly sandbox: boolean;
  readonly payer: Payer | null;
  readonly allows: Allowed;
  /** The account has cost us more than it held too often: its holds are made from bytes, never from a tighter count. */
  readonly strictBounds: boolean;
  /** Keys of its own, by provider; absent: none. */
  readonly ownKeys?: ReadonlyMap<string, OwnKey>;
  /** Absent: none. */
  readonly lowerings?: readonly Lowering[];
}

/** An authenticated caller: the payer and what the account and its key allow. */
export interface Caller extends Audience {
  readonly payer: AccountPayer;
  readonly primary: boolean;
  readonly paused: boolean;
  readonly frozen: boolean;
  readonly requestsPerMinute: number;
  readonly inFlightMax: number;
  readonly inferenceCapNano: Nano;
  /** What its calls count in beside its key's own ceiling; absent: nothing. */
  readonly budgets?: readonly Budget[];
  /** What its calls take of a minute beside the account's own rate; absent: nothing. */
  readonly rates?: readonly Rate[];
  /** For how long its answers are kept for the same question, where a request does not say it; absent: not at all. */
  readonly cacheSeconds?: number;
  /** Bodies and answers of its calls are kept; absent: they are not. */
  readonly logsCalls?: true;
  /** Whether its key may be used from an address; absent: from all. */
  isFrom?(address: string): boolean;
  /** What the account owns is told when it falls below this; absent: it is not. */
  readonly lowBalanceNano?: Nano;
}

/** A bound on calls in flight, taken and freed in the hold's own transaction. */
export interface Slot {
  readonly scope: string;
  readonly max: number;
  readonly code: ErrorCode;
}

/** The most a request may cost, and how to find a lower bound where money is short. */
export interface Quote {
  readonly nano: Nano;
  /** A costlier, tighter bound (a real token count), asked only when `nano` was refused; null where there is none. */
  readonly tighten: (() => Promise<Nano>) | null;
  /**
   * The same call for at most `free`: without the candidates that could cost more. Null: not one is left. Left out where all of them cost
   * the same. Asked only when everything else was refused, by the bounds that are known by then.
   */
  within?(free: Nano): Within | null;
  /**
   * The same call for a part of `free`, so that an answer which may be long does not hold all there is. Asked before anything is held;
   * null: what is free does not pay for it. Left out where a call costs what it costs.
   */
  share?(free: Nano): Promise<Within | null>;
  /** Says in the caller's units what `free` would pay for, such as `affordable_output_tokens`. */
  affordable(free: Nano): Readonly<Record<string, number>>;
  /** The most tokens that it can use, in and out, for rates of tokens; left out where it uses none. */
  tokensMax?(): number;
  /** The most that it can cost us, for a parent whose bound counts our cost. */
  upstreamNano(): Nano;
}

/** What is left of a plan where money is short: the most that can cost, and the route of those that can serve it. */
export interface Within {
  readonly nano: Nano;
  readonly route: Route;
}

/**
 * What a plan sets aside before anything is sent. `none`: nothing, and nothing is written. `call`: the quote, until the answer has
 * been served. `kept`: the quote as the budget of work that outlives the request; settling hands the hold over to its record.
 */
export type HoldSpec = { readonly kind: "none" } | { readonly kind: "call" } | KeptHoldSpec;

export interface KeptHoldSpec {
  readonly kind: "kept";
  /** The record that goes on with it: a job or a session. It owns the hold, so that no start of a process ends it. */
  readonly owner: `job:${string}`;
  /** How long the hold lives without being renewed, in milliseconds. */
  readonly leaseMs: number;
  /** What becomes of a hold that is not renewed any more. */
  readonly onExpire: "void" | "post-accrued";
  /** The kind of work that goes on with it. */
  readonly job: string;
  /** The action that launches it, `<service>/<action>`: its charges are booked under that. */
  readonly action: string;
  /** What that needs to begin, as JSON can write it. */
  readonly start: unknown;
  /** What the caller has called it. */
  readonly tags?: readonly string[];
  readonly sandboxFault: string | null;
  /** The trace that its caller began; absent: none. */
  readonly callerTraceId?: string;
  /** Work that may go on beyond this hold, in others after it under the same parent: what those are placed with. */
  readonly chain?: HoldChain;
}

/** What every hold of one piece of work has in common. */
export interface HoldChain {
  /** The first of them, which the others have as their parent. */
  readonly firstId: string;
  readonly keyId: string;
  readonly asked: string;
  readonly slots: readonly Slot[];
  readonly onExpire: KeptHoldSpec["onExpire"];
}

/** What an action that a model called within its answer was charged. */
export interface ActionUse {
  /** `<service>/<action>`. */
  readonly action: string;
  readonly cents: number;
  readonly ok: boolean;
}

/** What a call did cost: the caller, and us. */
export interface Cost {
  readonly chargeNano: Nano;
  readonly upstreamNano: Nano;
  /** What was counted, for the posting and the answer. */
  readonly usage: TokenUsage | null;
  /** No usage came and we counted ourselves. */
  readonly estimated: boolean;
  /** Which price was applied, for the posting. */
  readonly priceVersion: string;
  /** The actions that are part of it; absent: it could have none. */
  readonly actions?: readonly ActionUse[];
}

/** What the ledger took for a call. */
export interface Charge {
  /** Null where the call was free: nothing was written. */
  readonly transactionId: string | null;
  readonly chargedNano: Nano;
  readonly chargedCents: number;
  readonly absorbedNano: Nano;
  /** Why we bear part of the cost; null where we do not. */
  readonly absorbReason: string | null;
  /** What the payer has left after it; null where that is not known. */
  readonly balanceNano: Nano | null;
  /** What the payer is told of it in headers, such as a receipt. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A call, ready for the kernel. What varies between endpoints, vendors and models is data here. */
export interface Plan {
  /** The metric label of what was asked: `chat`, `embeddings`, `run`. */
  readonly operation: string;
  /** What was asked for, as the caller named it. */
  readonly asked: string;
  readonly streamed: boolean;
  /** A write is never sent twice. */
  readonly effect: "read" | "write";
  readonly quote: Quote;
  readonly hold: HoldSpec;
  /** A paused key may ask for it. */
  readonly whilePaused: boolean;
  /** The caller's own bound on the cost; null: none. */
  readonly maxCostNano: Nano | null;
  /** What it is sold at is its quote, or nothing: that can be told before it runs. */
  readonly exactPrice?: boolean;
  /** Beside the account's calls in flight. */
  readonly slots: readonly Slot[];
  /** Whether the call counts toward the account's daily inference cap. */
  readonly inference: boolean;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /** Told unless an earlier call under the same key is answered again: this one is not run. Absent: it may run. */
  readonly onlyAgain?: GatewayError;
  /** What the caller has called it, for its posting; absent: nothing. */
  readonly tags?: readonly string[];
  readonly route: Route;
  readonly wholeMsMax: number;
  readonly attemptsMax: number;
  /** The status of `upstream_error` when every route failed, and when time ran out. */
  readonly failedStatus: number;
  readonly timedOutStatus: number;
  /** Its status when limits of providers were all that kept every route from answering. Default: as for any failure. */
  readonly limitedStatus?: number;
  /** A caller who leaves: stop the upstream and charge what was delivered, or let it finish and charge it all. */
  readonly whenCallerLeaves: "abort" | "finish";
  /**
   * What an attempt's answer cost, or as much of one as came. `left`: it did not come to its end, and what was delivered is paid. It is
   * asked of the one that served, and of every other that a vendor had accepted, for what it cost us.
   */
  cost(candidate: Candidate, reading: Reading, ended: "whole" | "left"): Cost | Promise<Cost>;
  /** Hears which candidate has served. Absent: it makes no difference. */
  served?(candidate: Candidate): void;
  /**
   * Looks at a whole answer before anything is kept of it: gives it as it goes on, or what the caller is told in its place. Then nothing is
   * charged, and what the vendor takes is ours. Absent: it goes on as it is.
   */
  screen?(final: FinalPart): Promise<FinalPart | GatewayError>;
  /**
   * What must be kept before the charge, such as whose an issued id is; gives the answer as the caller gets it, or what the caller is
   * told instead: the vendor has done its work, so that is charged as well. Null: nothing.
   */
  readonly prepare:
    | ((final: FinalPart, served: Candidate, reading: Reading) => Promise<FinalPart | GatewayError>)
    | null;
}

/**
 * A plan whose price is known while its payer is not: what it does for its payer (checking whose an id is, linking files, keeping the
 * answer) is made once the kernel knows who that is. So a stranger can be told the price before paying, and is never taken for another.
 */
export interface OpenPlan
  extends Pick<Plan, "operation" | "asked" | "streamed" | "whilePaused" | "quote" | "tags" | "exactPrice"> {
  forPayer(payer: Payer): Plan | GatewayError | Promise<Plan | GatewayError>;
}

/** What funds have set aside for a plan. */
export interface Held {
  readonly id: string;
  readonly amountNano: Nano;
  /** Of the candidates that it pays for, where it does not pay for all of the plan's. */
  readonly route?: Route;
}

/** The call was made before under the same Idempotency-Key, as this transaction. */
export interface Repeated {
  readonly replayOf: string;
}

/** What is taken for a call that was served. */
export interface Capture {
  readonly cost: Cost;
  readonly served: Candidate;
  readonly legs: readonly Leg[];
  /** What the caller has called it. */
  readonly tags?: readonly string[];
}

/** What a call that is not charged leaves of its Idempotency-Key. `answered`: its refusal is kept; `unknown`: a write may have happened. */
export type KeyFate = "free" | "answered" | "unknown";

/** Why nothing is taken for a call, and what it cost us all the same. */
export interface Release {
  readonly reason: string;
  readonly keyFate: KeyFate;
  readonly legs: readonly Leg[];
}

/** Where the money of a plan comes from: a ledger's balance, a parent's hold, a payment on chain. */
export interface Funds {
  /** Sets the quote aside under `id`, as a part of `parent` where there is one; or says why not. */
  reserve(plan: Plan, id: string, parent: string | null): Promise<Held | Repeated | GatewayError>;
  /** Takes the cost, at most what is held. An error: it could not be taken, so the answer is withheld. Rejects: that is not known. */
  capture(held: Held, capture: Capture): Promise<Charge | GatewayError>;
  release(held: Held, release: Release): Promise<void>;
  /** What the payer has left; null where that is not known. */
  balance(): Promise<Nano | null>;
  /** The charge of an earlier call, for its replay; null: none is known. */
  charged(id: string): Promise<Charge | null>;
}

/** Who reads an answer while it comes. */
export interface AnswerReader {
  /** The reader has left. */
  readonly closed: boolean;
  /** Calls `listener` once if the reader leaves before the end. */
  onGone(listener: () => void): void;
  onRoom(listener: () => void): void;
  /** The call has been let in and begins. */
  admitted(): void;
  /** Content of `served` follows. Called once, before the first `write`. */
  begin(served: Candidate, legs: readonly Leg[]): void;
  /** False: the reader is slow; write no more until `onRoom` calls. */
  write(bytes: Uint8Array): boolean;
}

/** How a call ended. */
export type Outcome =
  | "success"
  | "replayed"
  | "refused"
  | "failed"
  | "broken"
  | "left_before_content"
  | "left_after_content";

/** Everything that is known of a call that has ended. */
export interface Ended {
  readonly id: string;
  readonly outcome: Outcome;
  /** What the caller is told; null where there is an answer, or its caller has left. */
  readonly error: GatewayError | null;
  /** The answer's last part, or the whole of it. */
  readonly final: FinalPart | null;
  readonly served: Candidate | null;
  /** What the one that served had said; null where nothing was served. */
  readonly reading: Reading | null;
  readonly cost: Cost | null;
  readonly charge: Charge | null;
  readonly heldNano: Nano;
  readonly legs: readonly Leg[];
  /** On `clock.elapsedMs()`; null where no content came. */
  readonly firstContentMs: number | null;
  readonly skippedEvents: number;
  /** Answer or error were kept under the Idempotency-Key of a call that ran before. */
  readonly isReplay: boolean;
}

// What serving HTTP needs besides the kernel: callers, rate limits, and ways to pay without a key.
import type { GatewayRequest } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Caller, OpenPlan, Plan } from "../../core/plan.ts";
import type { KernelDeps } from "../../kernel/deps.ts";
import type { Paying } from "../../kernel/key-pays.ts";
import type { LedgerFundsDeps } from "../../kernel/ledger-funds.ts";
import type { Runs } from "../../money/runs/runs.ts";
import type { AnswerBytes } from "../../platform/limits/answer-bytes.ts";
import type { WindowState } from "../../platform/limits/request-windows.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import type { RequestLog } from "../../platform/observe/request-log.ts";
import type { SpanContents } from "../../platform/observe/span-content.ts";
import type { Guard } from "../../upstream/guard.ts";
import type { AnswerCache } from "./cached-answers.ts";

/** Accepts payments by callers without a key, once the plan has its price. */
export interface AnonymousAccess {
  /** What such a caller may pay with; null: nothing, so a key is required. */
  takes(headers: GatewayRequest["headers"]): "money" | "play_money" | null;
  /** Returns payer and funds, or the payment challenge. */
  pay(plan: Plan | OpenPlan, request: GatewayRequest): Promise<Paying | GatewayError>;
}

export interface ServeDeps extends KernelDeps, LedgerFundsDeps {
  readonly observer: Observer;
  /** Finds a caller by the Authorization header; unknown keys are counted against the sender's address. */
  authenticate(
    authorization: string | undefined,
    sender: Pick<GatewayRequest, "address">,
  ): Caller | GatewayError | Promise<Caller | GatewayError>;
  /** The caller for a credential that stands for a key. Absent: only keys are credentials. */
  readonly callerOfKey?: (accountId: string, keyId: string) => Promise<Caller | GatewayError>;
  /** Finds the caller by a session cookie. Absent: only keys authenticate. */
  readonly signedIn?: ((request: GatewayRequest) => Promise<Caller | GatewayError>) | undefined;
  /** The WWW-Authenticate header of a 401 or 403 for a path, which says how to get a credential. */
  readonly challenge?: ((path: string, error: GatewayError) => string) | undefined;
  isAdmin(authorization: string | undefined): boolean;
  /** Counts a request of an account, or of an address without a valid credential. */
  takeWindow(kind: "account" | "address", key: string, limit: number): WindowState;
  /** The same, without counting. */
  peekWindow(kind: "account" | "address", key: string, limit: number): WindowState;
  readonly addressRequestsPerMinute: number;
  readonly runs: Runs;
  /** Absent: no answers are cached. */
  readonly cache?: AnswerCache;
  /** Checks requests before anything is held. */
  readonly guard?: Guard;
  /** Checks whole answers before they are stored or charged. */
  readonly answerGuard?: Guard;
  /** Logs bodies and answers of the accounts that enable it. */
  readonly requestLog?: RequestLog;
  /** Adds requests and answers to spans. */
  readonly spanContents?: SpanContents;
  /** The memory limit for answers that wait for their clients. */
  readonly answers: AnswerBytes;
  /** Null: every caller needs a key. */
  readonly anonymousPayer: AnonymousAccess | null;
  /** Pays for calls made inside other work, which has held the money already. Absent: each caller pays. */
  readonly paying?: Paying;
  draining(): boolean;
}

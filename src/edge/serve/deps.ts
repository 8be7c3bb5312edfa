// What serving HTTP needs beside the kernel: who calls, how often they may, and what they pay with.

import type { GatewayRequest } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Caller, OpenPlan, Plan } from "../../core/plan.ts";
import type { KernelDeps } from "../../kernel/deps.ts";
import type { Paying } from "../../kernel/key-pays.ts";
import type { LedgerFundsDeps } from "../../kernel/ledger-funds.ts";
import type { AnswerBytes } from "../../platform/limits/answer-bytes.ts";
import type { WindowState } from "../../platform/limits/request-windows.ts";
import type { Observer } from "../../platform/observe/observer.ts";
import type { RequestLog } from "../../platform/observe/request-log.ts";
import type { SpanContents } from "../../platform/observe/span-content.ts";

import type { Guard } from "../../upstream/guard.ts";
import type { AnswerCache } from "./answer-cache.ts";

/** How a caller without a key pays: asked once the plan has its price. */
export interface StrangerDoor {
  /** What a caller who comes so may pay with; null: nothing, so that a key is needed. */
  takes(headers: GatewayRequest["headers"]): "money" | "play_money" | null;
  /** The payer and the funds, or the challenge that says how to pay. */
  pay(plan: Plan | OpenPlan, request: GatewayRequest): Promise<Paying | GatewayError>;
}

export interface ServeDeps extends KernelDeps, LedgerFundsDeps {
  readonly observer: Observer;
  /** A caller by its Authorization header; where it is not known, the sender's address is asked for. */
  authenticate(
    authorization: string | undefined,
    sender: Pick<GatewayRequest, "address">,
  ): Caller | GatewayError | Promise<Caller | GatewayError>;
  /** Who has signed in, of a request that brings a cookie in place of a key. Left out: no person can sign in. */
  readonly signedIn?: ((request: GatewayRequest) => Promise<Caller | GatewayError>) | undefined;
  /** How a caller comes by a credential: the WWW-Authenticate header of a 401 or 403 at a path. */
  readonly challenge?: ((path: string, error: GatewayError) => string) | undefined;
  /** The admin token of the admin listener. */
  isAdmin(authorization: string | undefined): boolean;
  /** Counts a request of an account, or of an address without a good credential. */
  takeWindow(kind: "account" | "address", key: string, limit: number): WindowState;
  /** The same without counting it. */
  peekWindow(kind: "account" | "address", key: string, limit: number): WindowState;
  readonly addressRequestsPerMinute: number;
  /** Answers that are told again; left out: none are kept. */
  readonly cache?: AnswerCache;
  /** Sees what is asked before anything is held; left out: there is none. */
  readonly guard?: Guard;
  /** Sees whole answers before anything is kept of them or charged; left out: none is shown. */
  readonly answerGuard?: Guard;
  /** Where bodies and answers of accounts are kept that want it; left out: they are not. */
  readonly requestLog?: RequestLog;
  /** What spans tell of what is asked and answered; left out: nothing. */
  readonly spanContents?: SpanContents;
  /** What answers take of memory that wait for their clients. */
  readonly answers: AnswerBytes;
  /** Null: every caller needs a key. */
  readonly stranger: StrangerDoor | null;
  draining(): boolean;
}

// How tools reach their gateway: they call its endpoints in process, on the same path as over HTTP.

import type { KeptAnswer } from "../serve/kept-reply.ts";

export interface InnerCall {
  readonly method: "GET" | "POST";
  /** With its query, if any. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface InnerCaller {
  /** The Authorization header of the request; absent: it has no key. */
  readonly authorization: string | undefined;
  /** A payment instead of a key, as in its HTTP header; absent: none. */
  readonly payment?: string | undefined;
  /** A sandbox request without a key. */
  readonly sandbox?: boolean | undefined;
  /** Request headers that limit all of its calls: their cost, their key and their tags. */
  readonly bounds?: ReadonlyMap<string, string> | undefined;
  readonly address: string;
  /** Aborted when the caller has left: the call ends as if its client had. */
  readonly signal: AbortSignal;
}

/** Request headers that apply to each call that the request makes. */
export const BOUNDS: readonly string[] = [
  "x-tollgate-max-cost-cents",
  "idempotency-key",
  "x-tollgate-tags",
  "x-tollgate-run",
  "x-tollgate-run-budget-cents",
  "x-tollgate-run-parent",
];

export type CallInside = (call: InnerCall, caller: InnerCaller) => Promise<KeptAnswer>;

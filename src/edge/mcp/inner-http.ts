// How tools reach the gateway they stand in: one of its own endpoints is called inside of the process, by the same path as over HTTP.

export interface InnerCall {
  readonly method: "GET" | "POST";
  /** With its query, where it has one. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** On whose behalf, and for how long. */
export interface InnerCaller {
  /** The Authorization header that the call came with; absent: it came without a key. */
  readonly authorization: string | undefined;
  /** A payment in the place of a key, as its header of HTTP has it; absent: none came. */
  readonly payment?: string | undefined;
  /** It asks for the sandbox and has no key. */
  readonly sandbox?: boolean | undefined;
  /** What headers of the request bound for all of its calls: what they may cost, their key and their tags. */
  readonly bounds?: ReadonlyMap<string, string> | undefined;
  readonly address: string;
  /** Aborted when the caller has left: the call ends as if its client had. */
  readonly signal: AbortSignal;
}

export interface InnerAnswer {
  /** 0: it was left before it ended. */
  readonly status: number;
  readonly type: string;
  readonly bytes: Buffer;
  /** The challenge of a call that is to be paid, and the receipt of one that was, as headers of HTTP have them; absent: none. */
  readonly asked?: string;
  readonly receipt?: string;
}

/** Headers of a request that hold for each call which it brings. */
export const BOUNDS: readonly string[] = ["x-tollgate-max-cost-cents", "idempotency-key", "x-tollgate-tags"];

export type CallInside = (call: InnerCall, caller: InnerCaller) => Promise<InnerAnswer>;

// Jobs of a load generator, and their results; both cross a process boundary.

/** The destination and the complete raw request. */
export interface Target {
  readonly port: number;
  readonly tls?: boolean;
  readonly request: string;
  /** Callers' keys. Each request gets one in place of `SOMEBODY`: the next if `inTurn`, else a random one. */
  readonly callers?: readonly string[];
  readonly inTurn?: boolean;
}

export const SOMEBODY = "<somebody>";

/** `connections` clients that each send the next request after an answer, for at most `ms`. */
export interface ClosedLoop extends Target {
  readonly kind: "closed";
  readonly connections: number;
  readonly ms: number;
  /** The most requests. */
  readonly count?: number;
}

/** Requests at random times, `perSecond` on average, whether or not earlier ones were answered. */
export interface OpenLoop extends Target {
  readonly kind: "open";
  readonly perSecond: number;
  readonly ms: number;
}

/** `streams` streams, opened over `rampMs`, each read to its end. `events` is the expected count of each. */
export interface Streams extends Target {
  readonly kind: "streams";
  readonly streams: number;
  readonly rampMs: number;
  readonly events: number;
}

/** `connections` clients that read one byte a second of an endless answer, for `ms`. */
export interface SlowReaders extends Target {
  readonly kind: "slow";
  readonly connections: number;
  readonly ms: number;
}

export type Job = ClosedLoop | OpenLoop | Streams | SlowReaders;

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

export interface JobResult {
  /** Complete answers with status 200, or 304 for a conditional request. */
  readonly whole: number;
  readonly failed: number;
  /** Failures by status; 0 for a broken connection. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly events: number;
  readonly bytes: number;
  readonly seconds: number;
  /** The most concurrent answers. */
  readonly openMax: number;
  /** Milliseconds since a request was due (open loop) or sent (closed loop); null where not measured. */
  readonly firstToken: Quantiles | null;
  readonly wholeCall: Quantiles | null;
  /** Between the events of a stream. */
  readonly gap: Quantiles | null;
}

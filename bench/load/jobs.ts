// What a load generator can be asked to do, and what it reports; both cross a process boundary.

/** Where to send what: a whole request, head and body, ready for the wire. */
export interface Target {
  readonly port: number;
  readonly request: string;
  /** Each request is that of one of these, at random, whose text takes the place of `SOMEBODY` in it. */
  readonly callers?: readonly string[];
}

export const SOMEBODY = "<somebody>";

/** `connections` clients, each sending its next request when its last was answered, for `ms`. */
export interface ClosedLoop extends Target {
  readonly kind: "closed";
  readonly connections: number;
  readonly ms: number;
}

/** Requests at random moments, `perSecond` of them on average, whether or not earlier ones were answered. */
export interface OpenLoop extends Target {
  readonly kind: "open";
  readonly perSecond: number;
  readonly ms: number;
}

/** `streams` streams, opened over `rampMs`, each read to its end. `events` is what each must bring. */
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
  /** Answers that came whole, with status 200 or, where the request was conditional, 304. */
  readonly whole: number;
  readonly failed: number;
  /** Of the failed ones, by status; 0 where the connection broke. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly events: number;
  readonly bytes: number;
  readonly seconds: number;
  /** The most answers under way at once. */
  readonly openMax: number;
  /** Milliseconds from the moment a request was due (open loop) or sent (closed loop); null where nothing was measured. */
  readonly firstToken: Quantiles | null;
  readonly wholeCall: Quantiles | null;
  /** Between the events of a stream. */
  readonly gap: Quantiles | null;
}

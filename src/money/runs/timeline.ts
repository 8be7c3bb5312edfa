// A run's calls over time, one lane for each run, merged until they fit into a picture.
import type { RunCall } from "./bill-calls.ts";

/** Of all runs together. Also the most lanes: each lane needs a span, so the runs that come later have none. */
const SPANS_MAX = 400;
/** Calls closer than this are one span, until there are too many. */
const GAP_MS = 50;

export interface Span {
  readonly run_id: string;
  from_ms: number;
  to_ms: number;
  calls: number;
  charged_nano_usd: number;
}

export class Timeline {
  #spans: Span[] = [];
  #gapMs = GAP_MS;
  /** The last span of each run. */
  readonly #last = new Map<string, Span>();

  add({ runId, startedAtMs, endedAtMs, nano }: RunCall): void {
    this.#put({ run_id: runId, from_ms: startedAtMs, to_ms: endedAtMs, calls: 1, charged_nano_usd: nano });
    while (this.#spans.length > SPANS_MAX) this.#merge();
  }

  spans(): readonly Span[] {
    return this.#spans;
  }

  /** Calls come in the order of their ends. */
  #put(span: Span): void {
    const last = this.#last.get(span.run_id);
    if (last === undefined && this.#last.size >= SPANS_MAX) return;
    if (last === undefined || span.from_ms > last.to_ms + this.#gapMs) {
      this.#spans.push(span);
      this.#last.set(span.run_id, span);
      return;
    }
    last.from_ms = Math.min(last.from_ms, span.from_ms);
    last.to_ms = Math.max(last.to_ms, span.to_ms);
    last.calls += span.calls;
    last.charged_nano_usd += span.charged_nano_usd;
  }

  #merge(): void {
    const spans = this.#spans;
    this.#spans = [];
    this.#last.clear();
    this.#gapMs *= 2;
    for (const span of spans) this.#put(span);
  }
}

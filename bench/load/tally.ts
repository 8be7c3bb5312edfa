// Sums up the results of a job's requests.
import type { Exchange } from "./connection.ts";
import type { JobResult, Quantiles } from "./jobs.ts";

export class Tally {
  whole = 0;
  failed = 0;
  events = 0;
  bytes = 0;
  open = 0;
  openMax = 0;
  readonly statuses: Record<string, number> = {};
  readonly #firstToken: number[] = [];
  /** Milliseconds between the events of a stream. */
  readonly gaps: number[] = [];
  readonly #wholeCall: number[] = [];
  readonly #startedAt = performance.now();

  sent(): void {
    this.open += 1;
    this.openMax = Math.max(this.openMax, this.open);
  }

  /** `complete`: the job's own condition beyond a proper end. */
  ended(exchange: Exchange, complete = true): void {
    this.open -= 1;
    this.events += exchange.events;
    this.bytes += exchange.bytes;
    if (exchange.whole && complete) {
      this.whole += 1;
      return;
    }
    this.failed += 1;
    this.statuses[exchange.status] = (this.statuses[exchange.status] ?? 0) + 1;
  }

  /** Records the latencies of an answer that was due at `dueAt`. */
  time(exchange: Exchange, dueAt: number): void {
    if (exchange.firstTokenAt > 0) this.#firstToken.push(exchange.firstTokenAt - dueAt);
    this.#wholeCall.push(exchange.endedAt - dueAt);
  }

  result(): JobResult {
    return {
      whole: this.whole,
      failed: this.failed,
      statuses: this.statuses,
      events: this.events,
      bytes: this.bytes,
      seconds: (performance.now() - this.#startedAt) / 1000,
      openMax: this.openMax,
      firstToken: quantiles(this.#firstToken),
      wholeCall: quantiles(this.#wholeCall),
      gap: quantiles(this.gaps),
    };
  }
}

function quantiles(values: number[]): Quantiles | null {
  if (values.length === 0) return null;
  const sorted = values.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

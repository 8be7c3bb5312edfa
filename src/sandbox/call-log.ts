// The sandbox's log of served requests, separate from the gateway's so that the two can be compared.
import type { Clock } from "../core/clock.ts";
import { getOrMake } from "../core/maps.ts";

/** How a request ended. `refused`: an error instead of an answer; `cut`: a fault broke it off; `aborted`: the client left. */
export type Ended = "open" | "whole" | "cut" | "aborted" | "refused";

export interface CallLogRow {
  readonly number: number;
  /** The caller's `x-request-id`. */
  readonly requestId: string | null;
  readonly adapter: string;
  /** For an action: `<adapter>/<action>`. */
  readonly model: string;
  /** The action's name within its adapter, and the number of the request: 0 for the first, then the steps. */
  readonly action: string | null;
  readonly step: number | null;
  readonly stream: boolean;
  status: number;
  ended: Ended;
  readonly tokensIn: number;
  readonly cachedTokensIn: number;
  /** Output tokens written so far, thinking and tool arguments included. */
  tokensOut: number;
  readonly startedAtMs: number;
  endedAtMs: number | null;
}

const NO_CALLS = {
  requests: 0,
  open: 0,
  whole: 0,
  cut: 0,
  aborted: 0,
  refused: 0,
  tokensIn: 0,
  cachedTokensIn: 0,
  tokensOut: 0,
};

export type Totals = Record<keyof typeof NO_CALLS, number>;

export interface CallLogReport {
  readonly totals: Readonly<Totals>;
  /** By the model's name in the request, and by action. */
  readonly models: Readonly<Record<string, Readonly<Totals>>>;
  /** Newest last. Beyond ten thousand the oldest are dropped; the totals still count them. */
  readonly requests: readonly Readonly<CallLogRow>[];
}

const ROWS_MAX = 10_000;
const MODELS_MAX = 1_000;

type Opening = Pick<CallLogRow, "adapter" | "model"> & Partial<CallLogRow>;

/** One request's entry. Only the first end counts. */
export class LoggedCall {
  readonly #row: CallLogRow;
  readonly #counted: readonly Totals[];
  readonly #clock: Clock;

  constructor(row: CallLogRow, counted: readonly Totals[], clock: Clock) {
    this.#row = row;
    this.#counted = counted;
    this.#clock = clock;
    for (const total of counted) {
      total.requests += 1;
      total.open += 1;
      total.tokensIn += row.tokensIn;
      total.cachedTokensIn += row.cachedTokensIn;
    }
  }

  written(tokens: number): void {
    this.#row.tokensOut += tokens;
    for (const total of this.#counted) total.tokensOut += tokens;
  }

  end(ended: Exclude<Ended, "open">, status = this.#row.status): void {
    if (this.#row.ended !== "open") return;
    Object.assign(this.#row, { ended, status, endedAtMs: this.#clock.epochMs() });
    for (const total of this.#counted) {
      total.open -= 1;
      total[ended] += 1;
    }
  }
}

export class CallLog {
  readonly #clock: Clock;
  #number = 0;
  #totals: Totals = { ...NO_CALLS };
  readonly #models = new Map<string, Totals>();
  #rows: CallLogRow[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What the opening leaves out is that of a whole answer without tokens. */
  open(opening: Opening): LoggedCall {
    const usual = { requestId: null, action: null, step: null, stream: false, status: 200, tokensIn: 0 };
    const begun = { ended: "open", cachedTokensIn: 0, tokensOut: 0, startedAtMs: this.#clock.epochMs() } as const;
    const row: CallLogRow = { number: ++this.#number, ...usual, ...begun, endedAtMs: null, ...opening };
    this.#rows.push(row);
    if (this.#rows.length >= 2 * ROWS_MAX) this.#rows = this.#rows.slice(-ROWS_MAX);
    return new LoggedCall(row, [this.#totals, this.#totalsOf(row.model)], this.#clock);
  }

  report(): CallLogReport {
    return {
      totals: { ...this.#totals },
      models: Object.fromEntries([...this.#models].map(([model, total]) => [model, { ...total }])),
      requests: this.#rows.slice(-ROWS_MAX).map((row) => ({ ...row })),
    };
  }

  reset(): void {
    this.#totals = { ...NO_CALLS };
    this.#models.clear();
    this.#rows = [];
  }

  #totalsOf(model: string): Totals {
    const name = this.#models.has(model) || this.#models.size < MODELS_MAX ? model : "(others)";
    return getOrMake(this.#models, name, () => ({ ...NO_CALLS }));
  }
}

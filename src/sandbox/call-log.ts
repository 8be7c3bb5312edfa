// The sandbox's own log of what it served, kept apart from the gateway's so that the two can be compared.
import type { Clock } from "../core/clock.ts";

/** How a request ended. `refused`: an error instead of an answer; `cut`: a fault broke it; `aborted`: the client left. */
export type Ended = "open" | "whole" | "cut" | "aborted" | "refused";

export interface CallLogRow {
  readonly number: number;
  /** What the caller's `x-request-id` said. */
  readonly requestId: string | null;
  readonly adapter: string;
  /** Of an action, `<adapter>/<action>`. */
  readonly model: string;
  /** The action's name within its adapter, and which of its requests this was: 0 the first, then its steps. */
  readonly action: string | null;
  readonly step: number | null;
  readonly stream: boolean;
  status: number;
  ended: Ended;
  readonly tokensIn: number;
  readonly cachedTokensIn: number;
  /** Output tokens whose bytes were written, thinking and tool arguments within. */
  tokensOut: number;
  readonly startedAtMs: number;
  endedAtMs: number | null;
}

export interface Totals {
  requests: number;
  open: number;
  whole: number;
  cut: number;
  aborted: number;
  refused: number;
  tokensIn: number;
  cachedTokensIn: number;
  tokensOut: number;
}

export interface CallLogReport {
  readonly totals: Readonly<Totals>;
  /** By model, as it was named in the request, and by action. */
  readonly models: Readonly<Record<string, Readonly<Totals>>>;
  /** The newest last; the oldest are dropped beyond ten thousand, the totals keep counting them. */
  readonly requests: readonly Readonly<CallLogRow>[];
}

const ROWS_MAX = 10_000;
const MODELS_MAX = 1_000;

export type Opening = Pick<
  CallLogRow,
  "requestId" | "adapter" | "model" | "action" | "step" | "stream" | "status" | "tokensIn" | "cachedTokensIn"
>;

/** One request's entry. The first end counts; later ones are ignored. */
export interface LoggedCall {
  written(tokens: number): void;
  end(ended: Exclude<Ended, "open">, status?: number): void;
}

export interface CallLog {
  open(opening: Opening): LoggedCall;
  report(): CallLogReport;
  reset(): void;
}

function emptyTotals(): Totals {
  return {
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
}

export function createCallLog(clock: Clock): CallLog {
  let number = 0;
  let totals = emptyTotals();
  let models = new Map<string, Totals>();
  let rows: CallLogRow[] = [];

  const totalsOf = (model: string): Totals => {
    const name = models.has(model) || models.size < MODELS_MAX ? model : "(others)";
    const found = models.get(name) ?? emptyTotals();
    models.set(name, found);
    return found;
  };

  return {
    open(opening) {
      number += 1;
      const row: CallLogRow = {
        number,
        ...opening,
        ended: "open",
        tokensOut: 0,
        startedAtMs: clock.epochMs(),
        endedAtMs: null,
      };
      rows.push(row);
      if (rows.length >= 2 * ROWS_MAX) rows = rows.slice(-ROWS_MAX);
      const counted = [totals, totalsOf(opening.model)];
      for (const total of counted) {
        total.requests += 1;
        total.open += 1;
        total.tokensIn += row.tokensIn;
        total.cachedTokensIn += row.cachedTokensIn;
      }
      return {
        written(tokens) {
          row.tokensOut += tokens;
          for (const total of counted) total.tokensOut += tokens;
        },
        end(ended, status) {
          if (row.ended !== "open") return;
          row.ended = ended;
          row.status = status ?? row.status;
          row.endedAtMs = clock.epochMs();
          for (const total of counted) {
            total.open -= 1;
            total[ended] += 1;
          }
        },
      };
    },
    report: () => ({
      totals: { ...totals },
      models: Object.fromEntries([...models].map(([model, total]) => [model, { ...total }])),
      requests: rows.slice(-ROWS_MAX).map((row) => ({ ...row })),
    }),
    reset() {
      totals = emptyTotals();
      models = new Map();
      rows = [];
    },
  };
}

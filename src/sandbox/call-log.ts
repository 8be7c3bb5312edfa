// The sandbox's log of served requests, separate from the gateway's so that the two can be compared.
import type { Clock } from "../core/clock.ts";

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
  /** By the model's name in the request, and by action. */
  readonly models: Readonly<Record<string, Readonly<Totals>>>;
  /** Newest last. Beyond ten thousand the oldest are dropped; the totals still count them. */
  readonly requests: readonly Readonly<CallLogRow>[];
}

const ROWS_MAX = 10_000;
const MODELS_MAX = 1_000;

export type Opening = Pick<
  CallLogRow,
  "requestId" | "adapter" | "model" | "action" | "step" | "stream" | "status" | "tokensIn" | "cachedTokensIn"
>;

/** One request's entry. Only the first end counts. */
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

// A run's bill: its calls in order with those of its child runs, their sums, loops and timeline, all from the ledger's postings.
import { z } from "zod";
import type { PostingPage, PostingRow } from "../../core/account-rows.ts";
import type { Answer } from "../../core/endpoint.ts";
import { getOrMake } from "../../core/maps.ts";
import { eachOf, inSlices } from "../../core/slices.ts";
import type { Reports } from "../../core/usage-rows.ts";
import { csvAnswer } from "../accounts/csv.ts";
import { type Names, named } from "../accounts/names.ts";
import { type RunCall, runCall, runCallRow } from "./bill-calls.ts";
import { LoopFinder } from "./loops.ts";
import { Timeline } from "./timeline.ts";

/** Postings read at once. */
const BATCH = 2_000;
const CSV_COLUMNS = [
  ...["created_at", "run_id", "transaction_id", "request_id", "endpoint", "model", "service", "action", "status"],
  ...["charged_nano_usd", "charged_usd", "first_token_ms", "duration_ms", "key_id", "key_label", "usage", "tags"],
  "fell_back_from",
];

export const billSchema = z.strictObject({
  format: z.enum(["json", "csv"], "must be json or csv").default("json"),
  /** With 0 the answer has the run alone, which is cheap enough to poll. */
  limit: z
    .string()
    .regex(/^\d{1,4}$/, "must be a whole number from 0 to 1000")
    .transform(Number)
    .refine((count) => count <= 1_000, "must be a whole number from 0 to 1000")
    .default(100),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, "must be the next_cursor of an earlier answer")
    .optional(),
});

interface Sum {
  calls: number;
  charged_nano_usd: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
}

const nothing = (): Sum => ({ calls: 0, charged_nano_usd: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 });

function addTo(sum: Sum, call: RunCall): void {
  sum.calls += 1;
  sum.charged_nano_usd += call.nano;
  sum.input_tokens += call.inputTokens;
  sum.cached_tokens += call.cachedTokens;
  sum.output_tokens += call.outputTokens;
}

class Reckoning {
  readonly #all = nothing();
  readonly #models = new Map<string, Sum>();
  readonly #actions = new Map<string, Sum>();
  readonly #loops = new LoopFinder();
  readonly #timeline = new Timeline();

  add(call: RunCall): void {
    addTo(this.#all, call);
    const sums = call.isAction ? this.#actions : this.#models;
    addTo(getOrMake(sums, call.name, nothing), call);
    this.#loops.add(call);
    this.#timeline.add(call);
  }

  shown() {
    const sorted = (sums: ReadonlyMap<string, Sum>) =>
      [...sums].sort(([, one], [, other]) => other.charged_nano_usd - one.charged_nano_usd);
    return {
      totals: {
        ...this.#all,
        by_model: sorted(this.#models).map(([model, sum]) => ({ model, ...sum })),
        by_action: sorted(this.#actions).map(([action, sum]) => ({ action, ...sum })),
      },
      loops: this.#loops.loops(),
      timeline: this.#timeline.spans(),
    };
  }
}

export type Reckoned = ReturnType<Reckoning["shown"]>;

type BilledBooks = Pick<Reports, "runPostings"> & Names;
type Asked = z.output<typeof billSchema>;

/** The runs of a bill: one with all below it. */
export interface BilledRuns {
  readonly accountId: string;
  readonly runIds: readonly string[];
}

function* reckoned(reckoning: Reckoning, rows: readonly PostingRow[]) {
  yield* eachOf(rows, (row) => reckoning.add(runCall(row)));
}

async function reckoningOf(books: BilledBooks, runs: BilledRuns) {
  const reckoning = new Reckoning();
  for (let cursor: string | null = null; ; ) {
    const { rows, next }: PostingPage = await books.runPostings({ ...runs, limit: BATCH, cursor });
    await inSlices(reckoned(reckoning, rows));
    if (next === null) return reckoning.shown();
    cursor = next;
  }
}

/** A page of calls; the first has the sums of all. */
export async function billOf(books: BilledBooks, runs: BilledRuns, asked: Asked) {
  const { limit, cursor = null } = asked;
  if (limit === 0) return {};
  const page = await books.runPostings({ ...runs, limit, cursor });
  const calls = await named(books, runs.accountId, page.rows, runCallRow);
  const reckoning = cursor === null ? await reckoningOf(books, runs) : {};
  return { ...reckoning, calls, next_cursor: page.next };
}

export async function billCsv(books: BilledBooks, runs: BilledRuns, asked: Asked): Promise<Answer> {
  const { limit, cursor = null } = asked;
  const { rows, next } = await books.runPostings({ ...runs, limit: limit || BATCH, cursor });
  return csvAnswer(CSV_COLUMNS, await named(books, runs.accountId, rows, runCallRow), next);
}

interface Branch {
  readonly id: string;
  readonly children: readonly Branch[];
}

export function idsOf({ id, children }: Branch): readonly string[] {
  return [id, ...children.flatMap(idsOf)];
}

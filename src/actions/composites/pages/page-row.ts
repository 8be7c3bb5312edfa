// The row of one page (contract 2.3), which grows with each rung that is tried.
import type { Stopped } from "../../../catalog/job-kind.ts";
import type { PagesWanted, RungSpec } from "../../../catalog/page-ladder.ts";
import type { CallMade } from "../call-made.ts";
import type { PageDetails } from "./page-details.ts";
import type { RungOutcome, RungPage, SkipReason } from "./read-rung.ts";
import { CONTENT_CHARS_MAX, ENOUGH, type Instead, type QualityFlag, type Yield } from "./yield.ts";

export interface Hop extends CallMade<SkipReason> {
  /** What was there instead of a page. */
  readonly found?: Instead;
}

export interface PageRow extends PageDetails {
  readonly id: string;
  readonly url: string;
  readonly final_url: string | null;
  readonly title: string | null;
  readonly content: string | null;
  readonly format: string;
  readonly chars: number;
  readonly provider: string | null;
  readonly yield: number;
  readonly quality_flags: readonly QualityFlag[];
  readonly hops: readonly Hop[];
  readonly hard: boolean;
  readonly charged_cents: number;
  readonly truncated?: true;
  readonly error?: string;
}

/** Why a job's row ended before all rungs were tried. */
export type RanOut = "over budget" | "unpaid_costs" | "timeout" | "cancelled" | Stopped;

export interface Best {
  readonly page: RungPage;
  readonly rung: RungSpec;
  readonly id: string | null;
  readonly score: number;
  readonly cents: number;
}

export class GrowingRow {
  readonly url: string;
  readonly #wanted: Pick<PagesWanted, "format" | "mainContent">;
  readonly #hops: Hop[] = [];
  #flags: readonly QualityFlag[] = [];
  #hard = false;
  #best: Best | null = null;
  /** Set where the page's own server says that it is not a page. */
  noPage: "onescrape_document" | "unsupported_type" | null = null;

  constructor(url: string, wanted: Pick<PagesWanted, "format" | "mainContent">) {
    this.url = url;
    this.#wanted = wanted;
  }

  get best(): Best | null {
    return this.#best;
  }

  get isDone(): boolean {
    return this.noPage !== null || (this.#best?.score ?? 0) >= ENOUGH;
  }

  /** Records a rung's outcome; `cents` is what the row pays if it takes this content. Returns whether it did. */
  note(rung: RungSpec, outcome: RungOutcome, ms: number, cents: number): boolean {
    const { action } = outcome;
    const hop = { provider: rung.tag, action, latency_ms: Math.round(ms) };
    if (outcome.kind === "skipped") {
      this.#hops.push({ ...hop, ok: false, charged_cents: 0, skipped: outcome.why });
      return false;
    }
    if (rung.hard === true) this.#hard = true;
    const { id } = outcome;
    const called = id === null ? hop : { ...hop, transaction_id: id };
    if (outcome.kind === "no_page") this.noPage = outcome.why;
    const page = outcome.kind === "read" ? outcome.pages.find(({ url }) => url === this.url) : undefined;
    const { score, flags, instead } = page?.judged ?? NOT_READ;
    if (outcome.kind === "read") this.#flags = page === undefined ? ["blocked"] : flags;
    const isBetter = page !== undefined && score > (this.#best?.score ?? 0);
    // The row takes the best result, and pays for that one only.
    const paid = isBetter ? cents : 0;
    if (isBetter) {
      for (const [at, one] of this.#hops.entries()) this.#hops[at] = { ...one, charged_cents: 0 };
      this.#best = { page, rung, id, score, cents };
    }
    const found = outcome.kind === "read" && instead !== undefined ? { found: instead } : NOTHING;
    this.#hops.push({ ...called, ok: score > 0, charged_cents: paid, ...found });
    return isBetter;
  }

  get cents(): number {
    return this.#best?.cents ?? 0;
  }

  hops(): readonly Hop[] {
    return this.#hops;
  }

  /** The row for callers; `ranOut` says why it ended early. */
  end(ranOut: RanOut | null = null): PageRow {
    const { url } = this;
    const best = this.#best;
    const content = best?.page.content ?? null;
    const cut = content !== null && content.length > CONTENT_CHARS_MAX;
    const kept = cut ? content.slice(0, CONTENT_CHARS_MAX) : content;
    const error = best === null ? (this.noPage ?? ranOut ?? "blocked") : null;
    return {
      id: url,
      url,
      final_url: best?.page.finalUrl ?? null,
      title: best?.page.title ?? null,
      content: kept,
      format: best?.page.format ?? this.#wanted.format,
      chars: kept?.length ?? 0,
      provider: best?.rung.tag ?? null,
      yield: Math.round((best?.score ?? 0) * 1_000) / 1_000,
      quality_flags: this.#flags,
      hops: this.#hops,
      hard: this.#hard,
      charged_cents: this.cents,
      ...best?.page.details,
      ...(cut ? TRUNCATED : NOTHING),
      ...(error === null ? NOTHING : { error }),
    };
  }
}

const NOTHING = {};
const NOT_READ: Yield = { score: 0, flags: [], instead: "nothing" };
const TRUNCATED = { truncated: true } as const;

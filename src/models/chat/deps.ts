// What planning calls of models needs, and its settings.
import type { Catalog } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import type { ThoughtSeal } from "../../core/neutral.ts";
import type { Payer } from "../../core/plan.ts";
import type { RequestWindows } from "../../platform/limits/request-windows.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import type { TokenCounters } from "./token-counter.ts";

export interface ChatSettings {
  /** For models named by slug; tiers have their own, unless it is replaced here. */
  readonly firstTokenMsMax: number;
  readonly firstTokenMsMaxByTier: Readonly<Record<string, number>>;
  readonly lastFirstTokenMsMax: number;
  readonly gapMsMax: number;
  readonly wholeMsMax: number;
  readonly attemptsMax: number;
  /** A whole answer's time: this, and the other for each output token allowed. */
  readonly unaryMs: number;
  readonly unaryMsPerToken: number;
  /** Callers without a key may buy an answer whose length the request bounds, at the most it can cost. */
  readonly sellsAtBound?: boolean;
}

export interface ChatDeps {
  /** The catalog in force: reading the overlay again replaces it. */
  readonly catalog: () => Catalog;
  readonly upstream: Upstream;
  readonly counter: TokenCounters;
  readonly clock: Clock;
  readonly settings: ChatSettings;
  /** The seal of a payer's thoughts; while the payer is not known, one that seals and opens nothing. */
  readonly seals: (payer: Payer | null) => ThoughtSeal;
  /** Counts the calls that cost nothing. */
  readonly freeWindows: RequestWindows;
}

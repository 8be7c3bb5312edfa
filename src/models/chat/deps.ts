// The dependencies and settings for planning model calls.
import type { Catalog } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import type { ThoughtSeal } from "../../core/neutral.ts";
import type { Payer } from "../../core/plan.ts";
import type { RequestWindows } from "../../platform/limits/request-windows.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import type { TokenCounters } from "./token-counter.ts";

export interface ChatSettings {
  /** For models named by slug; a tier has its own value unless overridden here. */
  readonly firstTokenMsMax: number;
  readonly firstTokenMsMaxByTier: Readonly<Record<string, number>>;
  readonly lastFirstTokenMsMax: number;
  readonly gapMsMax: number;
  readonly wholeMsMax: number;
  readonly attemptsMax: number;
  /** The time limit of a non-streamed answer: this, plus `unaryMsPerToken` for each allowed output token. */
  readonly unaryMs: number;
  readonly unaryMsPerToken: number;
  /** Callers without a key may buy an answer of bounded length at the most it can cost. */
  readonly sellsAtBound?: boolean;
}

export interface ChatDeps {
  /** The current catalog; reloading the overlay replaces it. */
  readonly catalog: () => Catalog;
  readonly upstream: Upstream;
  readonly counter: TokenCounters;
  readonly clock: Clock;
  readonly settings: ChatSettings;
  /** The seal for a payer's reasoning; while the payer is unknown, it neither seals nor opens anything. */
  readonly seals: (payer: Payer | null) => ThoughtSeal;
  readonly freeWindows: RequestWindows;
}

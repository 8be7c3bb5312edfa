// What page actions need from the rest of the gateway.
import type { InnerCalls } from "../../../catalog/local-action.ts";
import type { PageLadderSpec } from "../../../catalog/page-ladder.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Payer } from "../../../core/plan.ts";
import type { PortRule } from "../../../upstream/public-url.ts";
import type { PageReading } from "./extractor.ts";
import type { RungParts } from "./read-rung.ts";

export interface PageParts {
  readonly clock: Clock;
  /** From the current catalog. */
  ladder(): PageLadderSpec;
  readonly mayUsePort: PortRule;
  /** What rungs need for a payer. Live accounts read the internet, sandbox accounts the sandbox's pages. */
  rungParts(payer: Payer, ladder: PageLadderSpec, calls: Pick<InnerCalls, "call" | "own">): RungParts;
  /** The reading threads, for one account's turns. */
  reading(payer: Payer): PageReading;
  /** Whether pages can be read without any vendor: true unless DIRECT_FETCH=0. */
  readonly readsDirectly: boolean;
}

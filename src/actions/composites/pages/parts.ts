// What the actions over pages need of the rest of the gateway.
import type { InnerCalls } from "../../../catalog/local-action.ts";
import type { PageLadderSpec } from "../../../catalog/page-ladder.ts";
import type { Clock } from "../../../core/clock.ts";
import type { Payer } from "../../../core/plan.ts";
import type { PortRule } from "../../../upstream/public-url.ts";
import type { PageReading } from "./extractor.ts";
import type { RungParts } from "./read-rung.ts";

export interface PageParts {
  readonly clock: Clock;
  /** Of the catalog in force. */
  ladder(): PageLadderSpec;
  readonly mayUsePort: PortRule;
  /** What rungs need for a payer: live accounts' pages are those of the internet, a sandbox account's the sandbox's. */
  rungParts(payer: Payer, ladder: PageLadderSpec, calls: Pick<InnerCalls, "call" | "own">): RungParts;
  /** The threads that take pages apart, as an account has them in its turn. */
  reading(payer: Payer): PageReading;
  /** Whether pages can be read without any vendor: unless DIRECT_FETCH=0. */
  readonly readsDirectly: boolean;
}

// The service's own composite actions, and the kinds of jobs that they launch.
import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import { systemClock } from "../clock.ts";
import { onescrapeAction } from "../composites/onescrape.ts";
import type { Config } from "../config.ts";
import type { Log } from "../observe/log.ts";
import type { Records } from "../records/records.ts";
import type { PublicFetchOptions } from "../upstream/public-fetch.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import { openPages } from "./open-pages.ts";

export interface OpenCompositesParts {
  readonly config: Config;
  readonly log: Log;
  readonly records: Records;
  /** Whose composite tiers say what is tried in which order. */
  readonly catalog: OpenCatalog;
  /** How the internet is reached in tests. */
  readonly internet?: PublicFetchOptions;
}

export interface OpenComposites {
  readonly actions: readonly LocalAction[];
  readonly jobKinds: readonly JobKind[];
  close(): Promise<void>;
}

export function openComposites({ config, catalog, internet = {} }: OpenCompositesParts): OpenComposites {
  const pages = openPages({ config, catalog, clock: systemClock, internet });
  return {
    actions: [onescrapeAction(pages)],
    jobKinds: [],
    close: () => pages.close(),
  };
}

// The service's own composite actions, and the kinds of jobs that they launch.
import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import { systemClock } from "../clock.ts";
import { onescrapeAction } from "../composites/onescrape.ts";
import { onescrapeDeep, onescrapeDeepJob } from "../composites/onescrape-deep.ts";
import { RowPlaces } from "../composites/row-places.ts";
import type { Config } from "../config.ts";
import type { Log } from "../observe/log.ts";
import { createJobRows } from "../records/job-rows.ts";
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

/** Rows of jobs that one process works on at once. */
const ROWS_AT_ONCE = 256;
/** What the rows of an account's jobs may have together: on a disk, and in the memory of a Redis. */
const ROWS_BYTES_MAX = { disk: 256 * 1_048_576, memory: 16 * 1_048_576 };

export function openComposites({ config, catalog, records, internet = {} }: OpenCompositesParts): OpenComposites {
  const pages = openPages({ config, catalog, clock: systemClock, internet });
  const rows = createJobRows({ records, bytesMax: ROWS_BYTES_MAX[config.redisUrl === null ? "disk" : "memory"] });
  const places = new RowPlaces(ROWS_AT_ONCE);
  return {
    actions: [onescrapeAction(pages), onescrapeDeep(pages)],
    jobKinds: [onescrapeDeepJob({ parts: pages, rows, places })],
    close: () => pages.close(),
  };
}

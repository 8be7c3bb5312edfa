// The service's own composite actions, and the kinds of jobs that they launch.

import { consultAction } from "../actions/composites/consult.ts";
import { demoJob } from "../actions/composites/demos/demo-job.ts";
import { produceActions } from "../actions/composites/demos/produce.ts";
import { onefind } from "../actions/composites/onefind.ts";
import { onefindDeep, onefindDeepJob } from "../actions/composites/onefind-deep.ts";
import { onescrapeAction } from "../actions/composites/onescrape.ts";
import { onescrapeDeep, onescrapeDeepJob } from "../actions/composites/onescrape-deep.ts";
import { onesearchActions } from "../actions/composites/onesearch.ts";
import { RowPlaces } from "../actions/composites/row-places.ts";
import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import type { CompositeTierSpec } from "../catalog/tier.ts";
import { systemClock } from "../core/clock.ts";
import type { Payer } from "../core/plan.ts";
import type { Config } from "../platform/config.ts";
import type { Log } from "../platform/observe/log.ts";
import { createJobRows, type JobRows } from "../platform/records/job-rows.ts";
import type { Records } from "../platform/records/records.ts";
import { smallVideo } from "../sandbox/small-video.ts";
import type { PublicFetchOptions } from "../upstream/public-fetch.ts";
import { consultDeps } from "./consult-deps.ts";
import type { OpenActions } from "./open-actions.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import { openPages } from "./open-pages.ts";

/** Rows of jobs that one process works on at once. */
const ROWS_AT_ONCE = 256;
/** Scenes that one process records at once: each is a browser. */
const SCENES_AT_ONCE = 2;
/** Videos that one process puts together of their scenes at once: each is copied on the disk. */
const JOINS_AT_ONCE = 2;
/** What the rows of an account's results share: on a disk, and in the memory of a Redis. */
const ROWS_BYTES_MAX = { disk: 256 * 1_048_576, memory: 16 * 1_048_576 };

export interface OpenCompositesParts {
  readonly config: Config;
  readonly log: Log;
  readonly records: Records;
  /** Other processes have the same records. */
  readonly shared: boolean;
  /** Whose composite tiers say what is tried in which order. */
  readonly catalog: OpenCatalog;
  /** How the internet is reached in tests. */
  readonly internet?: PublicFetchOptions;
  /** Asked at each call: the actions that composites call are opened with them. */
  readonly actions: () => OpenActions;
}

export interface OpenComposites {
  readonly actions: readonly LocalAction[];
  readonly jobKinds: readonly JobKind[];
  /** The rows of what they have found. */
  readonly rows: JobRows;
  close(): Promise<void>;
}

/** The tier of this name and kind; the catalog has no other shape of it, unless an overlay has put one there. */
function tierOf<Kind extends CompositeTierSpec["kind"]>(
  catalog: OpenCatalog,
  name: string,
  kind: Kind,
): Extract<CompositeTierSpec, { kind: Kind }> {
  const found = catalog.current().compositeTiers.get(name);
  if (found?.kind !== kind) throw new Error(`tiers/${name}.ts is no ${kind}`);
  return found as Extract<CompositeTierSpec, { kind: Kind }>;
}

export function openComposites(parts: OpenCompositesParts): OpenComposites {
  const { config, log, records, shared, catalog, actions, internet = {} } = parts;
  const rows = createJobRows({ records, bytesMax: ROWS_BYTES_MAX[config.redisUrl === null ? "disk" : "memory"] });
  const places = new RowPlaces(ROWS_AT_ONCE);
  const finder = () => tierOf(catalog, "onefind", "people-finder");
  const pages = openPages({
    config,
    catalog,
    clock: systemClock,
    sharedRecords: shared ? records : null,
    internet,
  });
  const search = {
    clock: systemClock,
    pages,
    facets: () => tierOf(catalog, "onesearch", "facets"),
    isConfigured: (id: string, payer: Payer) => actions().actionCatalog.find(id, payer)?.configured === true,
  };
  const consult = consultAction(consultDeps(records, actions));
  const { chromiumPath, chromiumMemoryMib, ffmpegPath } = config;
  const demos = { maker: () => tierOf(catalog, "demo", "demo-maker"), chromiumPath, ffmpegPath };
  const demo = demoJob({
    rows,
    places: new RowPlaces(SCENES_AT_ONCE),
    joinPlaces: new RowPlaces(JOINS_AT_ONCE),
    sandboxPlaces: places,
    maker: demos.maker,
    studio: { ...demos, chromiumMemoryMib, clock: systemClock, internet, play: smallVideo },
    files: () => actions().files,
    onFault: (err, jobId) => log.logger.warn({ err, jobId }, "a scene could not be recorded"),
  });
  return {
    actions: [
      onescrapeAction(pages),
      onescrapeDeep(pages),
      onefind(finder),
      onefindDeep(finder),
      ...onesearchActions(search),
      consult,
      ...produceActions({ ...demos, pages }),
    ],
    jobKinds: [demo, onescrapeDeepJob({ parts: pages, rows, places }), onefindDeepJob({ finder, rows, places })],
    rows,
    close: () => pages.close(),
  };
}

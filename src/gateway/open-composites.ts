// The service's own composite actions, and the kinds of jobs that they launch.
import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import type { CompositeTierSpec } from "../catalog/tier.ts";
import { systemClock } from "../clock.ts";
import { consultAction } from "../composites/consult.ts";
import { onesearchActions } from "../composites/onesearch.ts";
import type { Config } from "../config.ts";
import type { Log } from "../observe/log.ts";
import type { Payer } from "../plan.ts";
import type { Records } from "../records/records.ts";
import { consultDeps } from "./consult-deps.ts";
import type { OpenActions } from "./open-actions.ts";
import type { OpenCatalog } from "./open-catalog.ts";

export interface OpenCompositesParts {
  readonly config: Config;
  readonly log: Log;
  readonly records: Records;
  /** Whose composite tiers say what is tried in which order. */
  readonly catalog: OpenCatalog;
  /** Asked at each call: the actions that composites call are opened with them. */
  readonly actions: () => OpenActions;
}

export interface OpenComposites {
  readonly actions: readonly LocalAction[];
  readonly jobKinds: readonly JobKind[];
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

export function openComposites({ records, catalog, actions }: OpenCompositesParts): OpenComposites {
  const search = {
    clock: systemClock,
    facets: () => tierOf(catalog, "onesearch", "facets"),
    pages: () => tierOf(catalog, "onescrape", "page-ladder"),
    isConfigured: (id: string, payer: Payer) => actions().actionCatalog.find(id, payer)?.configured === true,
  };
  return {
    actions: [...onesearchActions(search), consultAction(consultDeps(records, actions))],
    jobKinds: [],
    async close() {},
  };
}

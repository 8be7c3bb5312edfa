// The service's own composite actions, and the kinds of jobs that they launch.
import type { JobKind } from "../catalog/job-kind.ts";
import type { LocalAction } from "../catalog/local-action.ts";
import type { Config } from "../config.ts";
import type { Log } from "../observe/log.ts";
import type { Records } from "../records/records.ts";
import type { OpenCatalog } from "./open-catalog.ts";

export interface OpenCompositesParts {
  readonly config: Config;
  readonly log: Log;
  readonly records: Records;
  /** Whose composite tiers say what is tried in which order. */
  readonly catalog: OpenCatalog;
}

export interface OpenComposites {
  readonly actions: readonly LocalAction[];
  readonly jobKinds: readonly JobKind[];
  close(): Promise<void>;
}

export function openComposites(_parts: OpenCompositesParts): OpenComposites {
  return {
    actions: [],
    jobKinds: [],
    async close() {},
  };
}

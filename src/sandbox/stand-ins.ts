// Loads vendors' stand-ins from their files, each at the first request for it.

import type { StandInFile } from "../catalog/catalog.ts";
import { isRecord } from "../core/json.ts";
import { getOrMake } from "../core/maps.ts";
import type { Vendor } from "./action-vendors.ts";
import type { StandIn } from "./stand-in.ts";

/** A text describes a fault in the file; the vendor then answers with it. */
export type ReadStandIn = StandIn | string;

const NONE: StandIn = {};

function problemIn(value: unknown, { spec }: Vendor): string | null {
  if (!isRecord(value)) return "has no default export made by defineStandIn";
  const strange = Object.keys(value).find((name) => name !== "actions" && name !== "sessions");
  if (strange !== undefined) return `has ${strange}, which is neither actions nor sessions`;
  const { actions = {}, sessions } = value;
  if (!isRecord(actions)) return "has actions that are no object of functions";
  for (const [name, play] of Object.entries(actions)) {
    if (spec.actions?.[name] === undefined) return `stands in for ${name}, which is none of its adapter's actions`;
    if (typeof play !== "function") return `has ${name}, which is no function`;
  }
  if (sessions !== undefined && typeof sessions !== "function") return "has sessions, which is no function";
  return sessions !== undefined && spec.sessions === undefined ? "has sessions, and its adapter has none" : null;
}

async function read(file: StandInFile, vendor: Vendor): Promise<ReadStandIn> {
  try {
    const value = await file.load();
    const problem = problemIn(value, vendor);
    return problem === null ? (value as StandIn) : `${file.name} ${problem}.`;
  } catch (error) {
    return `${file.name} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** A reloaded catalog has new file objects, so changed stand-ins are read again. */
export class StandIns {
  readonly #known = new WeakMap<StandInFile, Promise<ReadStandIn>>();

  async of(vendor: Vendor | undefined): Promise<ReadStandIn> {
    const file = vendor?.standIn ?? null;
    if (vendor === undefined || file === null) return NONE;
    return getOrMake(this.#known, file, () => read(file, vendor));
  }
}

// How this installation is set up: printed for the operator at the start, served on the admin listener, read by the command.

import type { ActionCatalog } from "../actions/run/action-catalog.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { type NearVariable, nearVariables } from "../catalog/env-typos.ts";
import { firstModelOf, type InstalledProvider, type InstalledTier, installedOf } from "../catalog/installed.ts";
import type { Steps } from "../core/slices.ts";
import { type Config, REMOVED_SETTINGS, SETTINGS } from "../platform/config.ts";

export interface Setup {
  readonly url: string;
  readonly providers: readonly InstalledProvider[];
  readonly tiers: readonly InstalledTier[];
  /** Callable actions, including our own. */
  readonly actions: { readonly on: number; readonly of: number };
  /** Set variables that look like typos of known ones. */
  readonly mistyped: readonly NearVariable[];
  /** Set variables that earlier versions read. */
  readonly removed: readonly string[];
  readonly first_model: string | null;
  readonly sandbox: boolean;
}

const LIVE = { sandbox: false };
const SETTING_NAMES: readonly string[] = Object.values(SETTINGS).map(({ name }) => name);

export function* setupOf(config: Config, catalog: Catalog, actionCatalog: ActionCatalog, url: string): Steps<Setup> {
  const specs = new Map([...catalog.adapters(LIVE)].map(([id, { spec }]) => [id, spec]));
  const actions = actionCatalog.all(LIVE);
  const installed = yield* installedOf(catalog);
  return {
    url,
    ...installed,
    actions: { on: actions.filter(({ configured }) => configured).length, of: actions.length },
    mistyped: yield* nearVariables(config.namesSet, SETTING_NAMES, specs),
    removed: config.namesSet.filter((name) => Object.hasOwn(REMOVED_SETTINGS, name)),
    first_model: firstModelOf(catalog, installed),
    sandbox: config.sandbox,
  };
}

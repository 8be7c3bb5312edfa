// Finds the names on a key's lists that are not for sale here: a misspelled one would lock the key out of what was meant.

import type { ActionCatalog } from "../actions/run/action-catalog.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { nearest } from "../catalog/nearest.ts";
import type { Unsold } from "../money/accounts/allowed.ts";

const TIER_PREFIX = "core/";

export function unsoldIn(catalog: () => Catalog, actionCatalog: ActionCatalog): Unsold {
  return ({ services, models }, { sandbox }) => {
    const audience = { sandbox };
    const actions = actionCatalog.all(audience);
    const sold = catalog();
    const unitSlugs = sold.unitModels(audience).map(({ slug }) => slug);
    const tiers = [...sold.tiers.keys(), ...sold.realtimeTiers.keys()];
    const isModel = (name: string) =>
      (name.startsWith(TIER_PREFIX) && tiers.includes(name.slice(TIER_PREFIX.length))) ||
      sold.model(name, audience) !== null ||
      sold.embedding(name, audience) !== null ||
      unitSlugs.includes(name);
    const isService = (name: string) => actions.some(({ id, service }) => id === name || service === name);
    const model = models.find((name) => !isModel(name));
    if (model !== undefined) {
      const slugs = [...sold.listed(audience).map(({ slug }) => slug), ...unitSlugs];
      const names = tiers.map((id) => TIER_PREFIX + id);
      return { list: "models", message: told(model, [...names, ...slugs]) };
    }
    const service = services.find((name) => !isService(name));
    if (service === undefined) return null;
    return {
      list: "services",
      message: told(service, [...new Set(actions.flatMap((action) => [action.service, action.id]))]),
    };
  };
}

function told(name: string, names: readonly string[]): string {
  const found = nearest(name, names);
  return `${name} is not sold here.${found.length === 0 ? "" : ` Nearest: ${found.join(", ")}.`}`;
}

// Everything that can be called as /api/run/{service}/{action}: the catalog's actions and those we serve ourselves, in one list.
import type { ActionFacts, JsonObject } from "../catalog/action.ts";
import type { Audience, Catalog, SoldAction } from "../catalog/catalog.ts";
import type { LocalAction } from "../catalog/local-action.ts";

/** An action in the shop. Exactly one of `sold` and `local` serves it. */
export interface ShopAction {
  /** `<service>/<action>`. */
  readonly id: string;
  readonly service: string;
  readonly action: string;
  readonly facts: ActionFacts;
  readonly exampleParams: JsonObject;
  /** False: nobody is configured to serve it; calling it is 503 `upstream_not_configured`. */
  readonly configured: boolean;
  readonly sold: SoldAction | null;
  readonly local: LocalAction | null;
}

export interface Shop {
  /** In the order of ids. The same array for as long as the catalog is the same. */
  all(audience: Audience): readonly ShopAction[];
  /** By `<service>/<action>`; null: no such action. */
  find(id: string, audience: Audience): ShopAction | null;
}

/** What one audience sees of one catalog. */
interface Shelf {
  readonly catalog: Catalog;
  readonly all: readonly ShopAction[];
  readonly byId: ReadonlyMap<string, ShopAction>;
}

function fromCatalog(sold: SoldAction): ShopAction {
  const { id, service, action, facts, exampleParams, configured } = sold;
  return { id, service, action, facts, exampleParams, configured, sold, local: null };
}

function fromUs(local: LocalAction): ShopAction {
  const { service, action, example } = local;
  const id = `${service}/${action}`;
  return { id, service, action, facts: local, exampleParams: example.params, configured: true, sold: null, local };
}

function shelfOf(catalog: Catalog, locals: readonly LocalAction[], audience: Audience): Shelf {
  const all = [...catalog.actions(audience).map(fromCatalog), ...locals.map(fromUs)];
  all.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { catalog, all, byId: new Map(all.map((one) => [one.id, one])) };
}

/** Opens the shop over the catalog in force; a new catalog makes new shelves. */
export function createShop(catalog: () => Catalog, locals: readonly LocalAction[]): Shop {
  const shelves = new Map<boolean, Shelf>();
  function shelf(audience: Audience): Shelf {
    const current = catalog();
    const known = shelves.get(audience.sandbox);
    if (known?.catalog === current) return known;
    const fresh = shelfOf(current, locals, audience);
    shelves.set(audience.sandbox, fresh);
    return fresh;
  }
  return {
    all: (audience) => shelf(audience).all,
    find: (id, audience) => shelf(audience).byId.get(id) ?? null,
  };
}

// Everything that can be called as /api/run/{service}/{action}: the catalog's actions and those we serve ourselves, in one list.
import type { ActionSpec } from "../../catalog/action.ts";
import type { Adapter, Audience, Catalog, SoldAction } from "../../catalog/catalog.ts";
import type { EndpointTable } from "../../catalog/endpoint-table.ts";
import type { LaunchSpec, LocalAction } from "../../catalog/local-action.ts";
import { nativeFacts } from "../../catalog/native-actions.ts";
import type { NativeWire } from "../../catalog/spec.ts";
import { GatewayError } from "../../core/errors.ts";
import { atOnce, eachOf, type Steps } from "../../core/slices.ts";

/** A vendor's models as an action: what is asked of them and what they answer is in a wire of models. */
export interface ModelAction {
  readonly vendor: Adapter;
  readonly wire: NativeWire;
}

/** What is known of an action, whatever serves it. */
interface Listed extends Pick<SoldAction, "id" | "service" | "action" | "facts" | "exampleParams"> {
  /** False: no provider that serves it is configured; calling it is 503 `upstream_not_configured`. */
  readonly configured: boolean;
  /** Whether calls of sandbox accounts are answered, whichever caller asks. */
  readonly inSandbox: boolean;
  /** The vendors that serve it, the first choice first; none where we need none. */
  readonly vendors: readonly Adapter[];
  /** The rows that its params are completed from, and how they name one; absent: its params stand for themselves. */
  readonly table?: { readonly rows: EndpointTable; readonly by: NonNullable<ActionSpec["table"]> };
  /** Every key may call it, whatever its list of services has. */
  readonly anyKey?: true;
  /** What its calls leave behind; absent: they end with their answer. */
  readonly launches?: LaunchSpec;
}

/** Its params are checked and priced here: vendors serve it by their offers, or a function of ours does. */
export type CheckedAction =
  | (Listed & { readonly kind: "sold"; readonly sold: SoldAction })
  | (Listed & { readonly kind: "local"; readonly local: LocalAction });

/** A vendor's models serve it: their wire reads its params, and prices them. */
export type ModelsAction = Listed & { readonly kind: "native"; readonly native: ModelAction };

/** An action that can be called. Plans of its calls are made in run-plan.ts, whatever its kind and whichever the door. */
export type CatalogAction = CheckedAction | ModelsAction;

export interface ActionCatalog {
  /** In the order of ids. The same array until the catalog is replaced. */
  all(audience: Audience): readonly CatalogAction[];
  /** By `<service>/<action>`; null: no such action. */
  find(id: string, audience: Audience): CatalogAction | null;
  /** Makes ready what is asked of a catalog that is to come into force: every call asks. */
  ahead(next: Catalog): Steps<void>;
}

/** What one audience sees of one catalog. */
interface CatalogView {
  readonly catalog: Catalog;
  readonly all: readonly CatalogAction[];
  readonly byId: ReadonlyMap<string, CatalogAction>;
}

function fromCatalog(sold: SoldAction, catalog: Catalog): CatalogAction {
  const { id, service, action, facts, exampleParams, configured, offers, table: rows } = sold;
  const inSandbox = catalog.action(id, { sandbox: true })?.configured ?? false;
  const by = offers[0]?.spec.table;
  const table = rows === null || by === undefined ? {} : { table: { rows, by } };
  const vendors = offers.map(({ adapter }) => adapter);
  return { id, service, action, facts, exampleParams, configured, inSandbox, vendors, ...table, kind: "sold", sold };
}

/** Whether a function of ours has a provider to do it with. */
function canBeDone(local: LocalAction, catalog: Catalog, audience: Audience): boolean {
  const needed = local.needs?.(audience) ?? null;
  return needed === null || needed.some((id) => catalog.action(id, audience)?.configured === true);
}

function fromUs(
  local: LocalAction,
  served: Pick<CatalogAction, "configured" | "inSandbox" | "vendors">,
): CatalogAction {
  const { service, action, example, anyKey, launches } = local;
  return {
    id: `${service}/${action}`,
    service,
    action,
    facts: local,
    exampleParams: example.params,
    ...served,
    ...(anyKey === undefined ? {} : { anyKey }),
    ...(launches === undefined ? {} : { launches }),
    kind: "local",
    local,
  };
}

function fromModels(vendor: Adapter, inSandbox: boolean): readonly CatalogAction[] {
  const { id: service, spec, configured } = vendor;
  return Object.entries(spec.nativeActions ?? {}).map(([action, wire]) => {
    const facts = nativeFacts(spec, wire);
    const id = `${service}/${action}`;
    const served = { configured, inSandbox, vendors: [vendor], kind: "native", native: { vendor, wire } } as const;
    return { id, service, action, facts, exampleParams: facts.example.params, ...served };
  });
}

interface Ours {
  readonly locals: readonly LocalAction[];
  readonly ofVendor: (adapter: Adapter) => readonly LocalAction[];
}

/** What vendors bring: nearly all. */
function* ofVendors(catalog: Catalog, ofVendor: Ours["ofVendor"], audience: Audience): Steps<readonly CatalogAction[]> {
  const inPlay = catalog.adapters({ sandbox: true });
  const adapters = [...catalog.adapters(audience).values()];
  const ofModels = (one: Adapter) => fromModels(one, inPlay.get(one.id)?.configured ?? false);
  const native = (yield* eachOf(adapters, ofModels)).flat();
  const sold = yield* eachOf(catalog.actions(audience), (one) => fromCatalog(one, catalog));
  const ofOne = (one: Adapter) => fromVendor(one, ofVendor(one), inPlay.get(one.id)?.configured ?? false);
  return [...sold, ...native, ...(yield* eachOf(adapters, ofOne)).flat()];
}

/** With our own, which ask the catalog in force what they can be done with. */
function viewOf(catalog: Catalog, vendors: readonly CatalogAction[], locals: Ours["locals"], audience: Audience) {
  const ours = locals.map((local) => {
    const inSandbox = canBeDone(local, catalog, { sandbox: true });
    return fromUs(local, { configured: canBeDone(local, catalog, audience), inSandbox, vendors: [] });
  });
  const all = [...vendors, ...ours];
  all.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { catalog, all, byId: new Map(all.map((one) => [one.id, one])) };
}

/** Functions of ours that are done with one vendor: they can be had where it can. */
function fromVendor(vendor: Adapter, locals: readonly LocalAction[], inSandbox: boolean): readonly CatalogAction[] {
  return locals.map((local) => fromUs(local, { configured: vendor.configured, inSandbox, vendors: [vendor] }));
}

/**
 * Lists the actions of the catalog in force; `ofVendor` are those of ours that are done with one vendor. The views are built lazily, and
 * again when the catalog is replaced, for which `ahead` has done nearly all.
 */
export function openActionCatalog(
  catalog: () => Catalog,
  locals: readonly LocalAction[],
  ofVendor: (adapter: Adapter) => readonly LocalAction[] = () => [],
): ActionCatalog {
  const prepared = new WeakMap<Catalog, Map<boolean, readonly CatalogAction[]>>();
  const views = new Map<boolean, CatalogView>();
  function view(audience: Audience): CatalogView {
    const current = catalog();
    const known = views.get(audience.sandbox);
    if (known?.catalog === current) return known;
    const vendors = prepared.get(current)?.get(audience.sandbox) ?? atOnce(ofVendors(current, ofVendor, audience));
    const fresh = viewOf(current, vendors, locals, audience);
    views.set(audience.sandbox, fresh);
    return fresh;
  }
  return {
    *ahead(next) {
      const made = new Map<boolean, readonly CatalogAction[]>();
      for (const sandbox of [false, true]) made.set(sandbox, yield* ofVendors(next, ofVendor, { sandbox }));
      prepared.set(next, made);
    },
    all: (audience) => view(audience).all,
    find: (id, audience) => view(audience).byId.get(id) ?? null,
  };
}

/** Why an action is not served, where it is not for want of a key alone. */
export function waitsFor({ configured, vendors }: CatalogAction): string | undefined {
  return configured ? undefined : vendors[0]?.waitsFor;
}

/** What a call of an action is told that no configured provider serves. */
export function notConfigured(action: CatalogAction): GatewayError {
  const reason = waitsFor(action);
  const data = reason === undefined ? {} : { data: { reason } };
  return new GatewayError("upstream_not_configured", { detail: { detail: action.id }, ...data });
}

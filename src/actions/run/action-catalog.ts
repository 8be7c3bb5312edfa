// Lists everything callable at /api/run/{service}/{action}: the catalog's actions and our own.
import type { ActionSpec } from "../../catalog/action.ts";
import type { Adapter, Audience, Catalog, SoldAction } from "../../catalog/catalog.ts";
import type { EndpointTable } from "../../catalog/endpoint-table.ts";
import type { LaunchSpec, LocalAction } from "../../catalog/local-action.ts";
import { nativeFacts } from "../../catalog/native-actions.ts";
import type { NativeWire } from "../../catalog/spec.ts";
import { GatewayError } from "../../core/errors.ts";
import { atOnce, eachOf, type Steps } from "../../core/slices.ts";

/** A vendor's models as an action; requests and answers use one of the model wires. */
export interface ModelAction {
  readonly vendor: Adapter;
  readonly wire: NativeWire;
}

interface Listed extends Pick<SoldAction, "id" | "service" | "action" | "facts" | "exampleParams"> {
  /** False where no provider that serves it is configured: calls get 503 `upstream_not_configured`. */
  readonly configured: boolean;
  /** Whether sandbox accounts can call it. The same for every audience. */
  readonly inSandbox: boolean;
  /** The vendors that serve it, in order of preference; empty where it needs none. */
  readonly vendors: readonly Adapter[];
  /** The table that completes its params, and the param that names a row; absent where its params need no table. */
  readonly table?: { readonly rows: EndpointTable; readonly by: NonNullable<ActionSpec["table"]> };
  /** Every key may call it, whatever services the key lists. */
  readonly anyKey?: true;
  /** The job that a call launches; absent where a call ends with its answer. */
  readonly launches?: LaunchSpec;
}

/** We check and price its params. Served by vendors' offers or by a function of ours. */
export type CheckedAction =
  | (Listed & { readonly kind: "sold"; readonly sold: SoldAction })
  | (Listed & { readonly kind: "local"; readonly local: LocalAction });

/** Served by a vendor's models, whose wire reads and prices the params. */
export type ModelsAction = Listed & { readonly kind: "native"; readonly native: ModelAction };

/** A callable action. run-plan.ts plans the calls of every kind. */
export type CatalogAction = CheckedAction | ModelsAction;

export type ActionCatalog = ReturnType<typeof openActionCatalog>;

function fromCatalog(sold: SoldAction, catalog: Catalog): CatalogAction {
  const { id, service, action, facts, exampleParams, configured, offers, table: rows } = sold;
  const inSandbox = catalog.action(id, { sandbox: true })?.configured ?? false;
  const by = offers[0]?.spec.table;
  const table = rows === null || by === undefined ? {} : { table: { rows, by } };
  const vendors = offers.map(({ adapter }) => adapter);
  return { id, service, action, facts, exampleParams, configured, inSandbox, vendors, ...table, kind: "sold", sold };
}

/** Whether a configured provider can do this function's work. */
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

type OfVendor = (adapter: Adapter) => readonly LocalAction[];

/** The actions that come from vendors: nearly all of them. */
function* ofVendors(catalog: Catalog, ofVendor: OfVendor, audience: Audience): Steps<readonly CatalogAction[]> {
  const inPlay = catalog.adapters({ sandbox: true });
  const adapters = [...catalog.adapters(audience).values()];
  const ofModels = (one: Adapter) => fromModels(one, inPlay.get(one.id)?.configured ?? false);
  const native = (yield* eachOf(adapters, ofModels)).flat();
  const sold = yield* eachOf(catalog.actions(audience), (one) => fromCatalog(one, catalog));
  // Our functions that work with one vendor are available where that vendor is.
  const ofOne = (one: Adapter) => {
    const { configured } = one;
    const inSandbox = inPlay.get(one.id)?.configured ?? false;
    return ofVendor(one).map((local) => fromUs(local, { configured, inSandbox, vendors: [one] }));
  };
  return [...sold, ...native, ...(yield* eachOf(adapters, ofOne)).flat()];
}

/** Adds our own actions, whose availability depends on the current catalog. */
function viewOf(
  catalog: Catalog,
  vendors: readonly CatalogAction[],
  locals: readonly LocalAction[],
  audience: Audience,
) {
  const ours = locals.map((local) => {
    const inSandbox = canBeDone(local, catalog, { sandbox: true });
    return fromUs(local, { configured: canBeDone(local, catalog, audience), inSandbox, vendors: [] });
  });
  const all = [...vendors, ...ours];
  all.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { catalog, all, byId: new Map(all.map((one) => [one.id, one])) };
}

/** Lists the current catalog's actions; `ofVendor` returns our functions for one vendor. Built lazily; `ahead` does most of it. */
export function openActionCatalog(
  catalog: () => Catalog,
  locals: readonly LocalAction[],
  ofVendor: OfVendor = () => [],
) {
  const prepared = new WeakMap<Catalog, Map<boolean, readonly CatalogAction[]>>();
  const views = new Map<boolean, ReturnType<typeof viewOf>>();
  function view(audience: Audience): ReturnType<typeof viewOf> {
    const current = catalog();
    const known = views.get(audience.sandbox);
    if (known?.catalog === current) return known;
    const vendors = prepared.get(current)?.get(audience.sandbox) ?? atOnce(ofVendors(current, ofVendor, audience));
    const fresh = viewOf(current, vendors, locals, audience);
    views.set(audience.sandbox, fresh);
    return fresh;
  }
  return {
    /** Prepares the list for a catalog before it takes effect, because every call needs the list. */
    *ahead(next: Catalog): Steps<void> {
      const made = new Map<boolean, readonly CatalogAction[]>();
      for (const sandbox of [false, true]) made.set(sandbox, yield* ofVendors(next, ofVendor, { sandbox }));
      prepared.set(next, made);
    },
    /** Ordered by id. Returns the same array until the catalog is replaced. */
    all: (audience: Audience): readonly CatalogAction[] => view(audience).all,
    /** Finds an action by `<service>/<action>`; null where there is none. */
    find: (id: string, audience: Audience): CatalogAction | null => view(audience).byId.get(id) ?? null,
  };
}

/** Why an action is not served, where the reason is more than a missing key. */
export function waitsFor({ configured, vendors }: CatalogAction): string | undefined {
  return configured ? undefined : vendors[0]?.waitsFor;
}

export function notConfigured(action: CatalogAction): GatewayError {
  const reason = waitsFor(action);
  const data = reason === undefined ? {} : { data: { reason } };
  return new GatewayError("upstream_not_configured", { detail: action.id, ...data });
}

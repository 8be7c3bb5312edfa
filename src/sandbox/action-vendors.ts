// The vendors that the sandbox stands in for, as their adapters describe them; the caller provides them at start.
import type { ActionSpec } from "../catalog/action.ts";
import type { Catalog, StandInFile } from "../catalog/catalog.ts";
import type { EndpointTable } from "../catalog/endpoint-table.ts";
import type { StepSpec } from "../catalog/request-spec.ts";
import type { AdapterSpec } from "../catalog/spec.ts";

export interface Vendor {
  readonly spec: AdapterSpec;
  /** The endpoint table beside the adapter's file. */
  readonly table: EndpointTable | null;
  /** Its stand-in beyond the adapter's examples; null if it has none. */
  readonly standIn: StandInFile | null;
}

export type Vendors = ReadonlyMap<string, Vendor>;

/** One request of an action: the action's own, or a step's. */
export interface ActionPlace {
  readonly adapter: string;
  readonly name: string;
  readonly vendor: Vendor;
  readonly action: ActionSpec;
  /** 0: the action's own request, or a script's first. */
  readonly at: number;
  /** Null for the action's own request, or a script's. */
  readonly step: StepSpec | null;
}

export function vendorsOf(catalog: Catalog): Vendors {
  const audience = { sandbox: true };
  const tables = new Map<string, EndpointTable>();
  for (const { offers } of catalog.actions(audience)) {
    for (const { adapter, table } of offers) if (table !== null) tables.set(adapter.id, table);
  }
  const adapters = [...catalog.adapters(audience)];
  return new Map(
    adapters.map(([id, { spec }]) => [
      id,
      { spec, table: tables.get(id) ?? null, standIn: catalog.standIns.get(id) ?? null },
    ]),
  );
}

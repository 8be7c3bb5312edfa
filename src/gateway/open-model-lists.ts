// The list of models of a gateway: what is sold, how old the list is, and what its old prices were.
import { systemClock } from "../core/clock.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import { doesWork } from "../platform/config.ts";
import { modelEndpoints } from "./model-endpoints.ts";
import type { Foundation } from "./open-foundation.ts";
import type { GatewayOptions } from "./options.ts";
import { keepPriceVersions } from "./price-versions.ts";

export interface ModelLists {
  readonly endpoints: readonly EndpointSpec[];
  /** Reads the catalog again; on an error the old one stays. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

export function openModelLists(foundation: Foundation, role: GatewayOptions["role"]): ModelLists {
  const { config, catalog, stores, observer, broken } = foundation;
  // Of several processes on one machine only the parent keeps the old prices.
  const keepsPrices = role?.kind !== "child" && doesWork(config);
  const onBroken = (error: unknown) => broken(error, "versions of prices were not kept");
  const versions = keepsPrices ? keepPriceVersions(stores.records, catalog.current, onBroken) : null;
  observer.onScrape({
    modelListAgeMs() {
      const checkedAt = catalog.update()?.checkedAt;
      return checkedAt === undefined ? null : systemClock.epochMs() - Date.parse(checkedAt);
    },
  });
  return {
    endpoints: modelEndpoints(catalog, stores.records),
    async reload() {
      await catalog.reload();
      versions?.note();
    },
    async stop() {
      await versions?.stop();
    },
  };
}

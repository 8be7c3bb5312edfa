// The list of models of a gateway: how it is brought up to date, what the operator asks of it, and what its old prices were.
import { systemClock } from "../clock.ts";
import { doesWork } from "../config.ts";
import type { EndpointSpec } from "../endpoint.ts";
import { modelEndpoints } from "./model-endpoints.ts";
import { ModelUpdates } from "./model-updates.ts";
import type { Foundation } from "./open-foundation.ts";
import type { GatewayOptions } from "./options.ts";
import { keepPriceVersions } from "./price-versions.ts";

export interface ModelLists {
  readonly endpoints: readonly EndpointSpec[];
  /** Reads the catalog again; on an error the old one stays. */
  reload(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function openModelLists(foundation: Foundation, role: GatewayOptions["role"]): ModelLists {
  const { config, catalog, stores, upstream, log, observer, broken } = foundation;
  const { records } = stores;
  // Of several processes of one machine the parent asks, and keeps what prices were.
  const isOne = role?.kind !== "child";
  const asks = isOne && doesWork(config);
  const onBroken = (error: unknown) => broken(error, "versions of prices were not kept");
  const versions = asks ? keepPriceVersions(records, catalog.current, onBroken) : null;
  const onTaken = () => versions?.note();
  const ended = observer.modelsUpdated;
  const keeps = isOne || config.redisUrl !== null;
  const updates = new ModelUpdates({ config, stores, catalog, upstream, log, asks, keeps, onTaken, ended });
  observer.onScrape({
    modelListAgeMs() {
      const checkedAt = catalog.update()?.checkedAt;
      return checkedAt === undefined ? null : systemClock.epochMs() - Date.parse(checkedAt);
    },
  });
  return {
    endpoints: modelEndpoints({ config, catalog, updates, records }),
    async reload() {
      await catalog.reload();
      onTaken();
    },
    start: () => updates.start(),
    async stop() {
      updates.stop();
      await versions?.stop();
    },
  };
}

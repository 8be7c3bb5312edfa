// Opens the batch APIs of the configured providers.
import type { BatchVendors } from "../actions/batches/native-batch.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { priceOn } from "../catalog/price.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Config } from "../platform/config.ts";
import { BATCH_FORMATS } from "../upstream/batch-formats.ts";
import type { Upstream } from "../upstream/upstream.ts";

export function batchVendors(
  upstream: Pick<Upstream, "batchClient">,
  catalog: () => Catalog,
  { batchPollMs: pollMs }: Config,
): BatchVendors {
  const find = (vendor: string, sandbox: boolean) => {
    const adapter = catalog().adapters({ sandbox }).get(vendor);
    const api = adapter?.configured === true ? adapter.spec.batches : undefined;
    return adapter === undefined || api === undefined ? null : { adapter, api };
  };
  return {
    pollMs,
    percentOf(vendor, sandbox) {
      const day = new Date(systemClock.epochMs()).toISOString().slice(0, 10);
      return priceOn(day, find(vendor, sandbox)?.api.prices ?? [])?.percent ?? null;
    },
    open(vendor, sandbox, order) {
      const found = find(vendor, sandbox);
      if (found === null) throw new GatewayError("upstream_not_configured", { detail: vendor });
      const { adapter, api } = found;
      return { api, format: BATCH_FORMATS[api.format], client: upstream.batchClient(adapter, order) };
    },
  };
}

// What the operator asks of a running gateway about itself: its providers, prices and settings, and whether the providers answer.

import { notFound } from "../actions/run/nearest.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { tierPriceRows } from "../catalog/price-answers.ts";
import { priceRows, unitPriceRows } from "../catalog/price-table.ts";
import { systemClock } from "../core/clock.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import { inSlices } from "../core/slices.ts";
import { adminEndpoint } from "../money/accounts/admin-accounts.ts";
import type { Config } from "../platform/config.ts";
import { routeRows } from "../upstream/route-rows.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { Losses } from "./losses.ts";
import { refusalsIn } from "./refused-key.ts";
import type { Setup } from "./setup.ts";

export interface OperatorParts {
  readonly config: Config;
  /** The catalog in force. */
  readonly catalog: () => Catalog;
  readonly upstream: Upstream;
  readonly losses: Losses;
  /** Has the losses be those of all processes. */
  readonly hearLosses: () => Promise<void>;
  readonly setup: () => Promise<Setup>;
}

export function operatorEndpoints({
  config,
  catalog,
  upstream,
  losses,
  hearLosses,
  setup,
}: OperatorParts): readonly EndpointSpec[] {
  return [
    adminEndpoint("GET", "/admin/v1/providers", async () => ({ status: 200, body: await setup() })),
    adminEndpoint("POST", "/admin/v1/providers/{id}/check", async ({ request }) => {
      const id = request.params.id ?? "";
      const deps = { catalog: catalog(), upstream, clock: systemClock, namesSet: config.namesSet };
      // Loaded here, because a gateway starts faster without it.
      const { checkProvider } = await import("./check-provider.ts");
      const checks = await checkProvider(id, deps);
      if (checks !== null) return { status: 200, body: { checks } };
      const { providers } = await setup();
      const on = providers.flatMap((provider) => (provider.on ? [provider.id] : []));
      return notFound(`No provider that is on is called ${id.slice(0, 80)}`, id, on);
    }),
    adminEndpoint("GET", "/admin/v1/routes", async () => ({
      status: 200,
      body: { refusals: refusalsIn(upstream.failures, catalog()), routes: routeRows(upstream) },
    })),
    adminEndpoint("GET", "/admin/v1/prices", async ({ request }) => {
      const sandbox = request.query.get("sandbox") === "1";
      const unit_models = await inSlices(unitPriceRows(catalog(), { sandbox }));
      await hearLosses();
      const lost = { losses: losses.rows(), unpriced: losses.unpriced() };
      const models = await inSlices(priceRows(catalog(), { sandbox }));
      return { status: 200, body: { tiers: tierPriceRows(catalog(), { sandbox }), models, unit_models, ...lost } };
    }),
    adminEndpoint("GET", "/admin/v1/config", async () => ({ status: 200, body: { settings: config.effective } })),
  ];
}

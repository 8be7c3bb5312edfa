// The admin endpoints of a running gateway: its providers, routes, models, prices, settings and jobs.
import { jobRow } from "../actions/jobs/job-view.ts";
import { notFound } from "../actions/run/nearest.ts";
import { tierPriceRows } from "../catalog/price-answers.ts";
import { priceRows, unitPriceRows } from "../catalog/price-table.ts";
import { soldRows } from "../catalog/updates/rows.ts";
import { systemClock } from "../core/clock.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import { inSlices } from "../core/slices.ts";
import { adminEndpoint } from "../money/accounts/admin-accounts.ts";
import { named } from "../money/accounts/names.ts";
import { missing } from "../money/accounts/own-endpoint.ts";
import { routeRows } from "../upstream/route-figures.ts";
import type { Foundation } from "./open-foundation.ts";
import type { Work } from "./open-work.ts";
import { keptPrice } from "./price-versions.ts";
import { refusalsIn } from "./refused-key.ts";
import type { Setup } from "./setup.ts";

const JOBS_LISTED_MAX = 10_000;

/** Models and prices: what is for sale, what it costs, and old prices. */
function priceEndpoints({ catalog, stores, losses }: Foundation): readonly EndpointSpec[] {
  const { current } = catalog;
  return [
    adminEndpoint("GET", "/admin/v1/prices", async ({ request }) => {
      const sandbox = request.query.get("sandbox") === "1";
      const unit_models = await inSlices(unitPriceRows(current(), { sandbox }));
      await losses.exchange();
      const lost = { losses: losses.rows(), unpriced: losses.unpriced() };
      const models = await inSlices(priceRows(current(), { sandbox }));
      return { status: 200, body: { tiers: tierPriceRows(current(), { sandbox }), models, unit_models, ...lost } };
    }),
    adminEndpoint("GET", "/admin/v1/models", async ({ request }) => {
      const sandbox = request.query.get("sandbox") === "1";
      const update = catalog.update();
      const models = soldRows(current(), update, { sandbox });
      const list =
        update === null ? null : { taken_at: update.takenAt, checked_at: update.checkedAt, source: update.source };
      return { status: 200, body: { models, list } };
    }),
    adminEndpoint("GET", "/admin/v1/price", async ({ request }) => {
      const kept = await keptPrice(stores.records, (request.query.get("version") ?? "").slice(0, 500));
      if (kept === null) throw missing("any_transaction", "No price of that version was ever sold here.");
      return { status: 200, body: kept };
    }),
  ];
}

export function operatorEndpoints(
  foundation: Foundation,
  { jobs }: Work,
  setup: () => Promise<Setup>,
): readonly EndpointSpec[] {
  const { config, catalog, stores, upstream } = foundation;
  return [
    adminEndpoint("GET", "/admin/v1/providers", async () => ({ status: 200, body: await setup() })),
    adminEndpoint("POST", "/admin/v1/providers/{id}/check", async ({ request }) => {
      const id = request.params.id ?? "";
      const deps = { catalog: catalog.current(), upstream, clock: systemClock, namesSet: config.namesSet };
      // Imported lazily: the gateway starts faster.
      const { checkProvider } = await import("./check-provider.ts");
      const checks = await checkProvider(id, deps);
      if (checks !== null) return { status: 200, body: { checks } };
      const { providers } = await setup();
      const on = providers.flatMap((provider) => (provider.on ? [provider.id] : []));
      throw notFound(`No provider that is on is called ${id.slice(0, 80)}`, id, on);
    }),
    adminEndpoint("GET", "/admin/v1/routes", async () => ({
      status: 200,
      body: { refusals: refusalsIn(upstream.failures, catalog.current()), routes: routeRows(upstream) },
    })),
    ...priceEndpoints(foundation),
    adminEndpoint("GET", "/admin/v1/config", async () => ({ status: 200, body: { settings: config.effective } })),
    adminEndpoint("GET", "/admin/v1/jobs", async () => {
      const nowMs = systemClock.epochMs();
      const rows = await named(stores.ledger, null, await jobs.open(JOBS_LISTED_MAX), (job) => jobRow(job, nowMs));
      return { status: 200, body: { jobs: rows.sort((a, b) => b.still_seconds - a.still_seconds) } };
    }),
  ];
}

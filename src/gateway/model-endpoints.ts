// The operator's questions about models: what is sold, and what an old price was.

import { soldRows } from "../catalog/updates/rows.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { adminEndpoint } from "../money/accounts/admin-accounts.ts";
import type { Records } from "../platform/records/records.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import { keptPrice } from "./price-versions.ts";

export function modelEndpoints(catalog: OpenCatalog, records: Records): readonly EndpointSpec[] {
  return [
    adminEndpoint("GET", "/admin/v1/models", async ({ request }) => {
      const sandbox = request.query.get("sandbox") === "1";
      const update = catalog.update();
      const models = soldRows(catalog.current(), update, { sandbox });
      const list =
        update === null ? null : { taken_at: update.takenAt, checked_at: update.checkedAt, source: update.source };
      return { status: 200, body: { models, list } };
    }),
    adminEndpoint("GET", "/admin/v1/price", async ({ request }) => {
      const kept = await keptPrice(records, (request.query.get("version") ?? "").slice(0, 500));
      if (kept !== null) return { status: 200, body: kept };
      return new GatewayError("not_found", {
        of: "any_transaction",
        detail: { detail: "No price of that version was ever sold here." },
      });
    }),
  ];
}

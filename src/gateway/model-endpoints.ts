// What the operator asks of a running gateway about the models that it sells: what there is, another list, the one before, an old price.
import { z } from "zod";
import { adminEndpoint } from "../accounts/admin-accounts.ts";
import { readBody } from "../accounts/read-body.ts";
import { keptStamps } from "../catalog/updates/kept.ts";
import { BadList } from "../catalog/updates/list.ts";
import { soldRows } from "../catalog/updates/rows.ts";
import type { Config } from "../config.ts";
import type { EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import type { Records } from "../records/records.ts";
import type { ModelUpdates } from "./model-updates.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import { keptPrice } from "./price-versions.ts";
import { isSource } from "./update-source.ts";

const updateSchema = z.strictObject({
  from: z
    .string()
    .min(1)
    .max(2_000)
    .refine(isSource, "must be an http or https address, a file's whole path, or a provider's id")
    .optional(),
  vendor: z.string().min(1).max(100).optional(),
  dry_run: z.boolean().default(false),
  yes: z.boolean().default(false),
});

export interface ModelEndpointParts {
  readonly config: Config;
  readonly catalog: OpenCatalog;
  readonly updates: ModelUpdates;
  readonly records: Records;
}

function conflict(detail: string): GatewayError {
  return new GatewayError("conflict", { detail: { detail } });
}

export function modelEndpoints({ config, catalog, updates, records }: ModelEndpointParts): readonly EndpointSpec[] {
  return [
    adminEndpoint("GET", "/admin/v1/models", async ({ request }) => {
      const sandbox = request.query.get("sandbox") === "1";
      const update = catalog.update();
      const models = soldRows(catalog.current(), update, { sandbox });
      const taken =
        update === null ? null : { taken_at: update.takenAt, checked_at: update.checkedAt, source: update.source };
      return { status: 200, body: { models, list: taken, kept: await keptStamps(config.dataDir) } };
    }),
    adminEndpoint("POST", "/admin/v1/models/update", async ({ request }) => {
      const body = readBody(updateSchema, request.body);
      if (body instanceof GatewayError) return body;
      const from = body.from ?? config.modelsSource;
      if (from === null) return conflict("from: no source is set; name one, or set MODELS_SOURCE.");
      try {
        const order = { from, vendor: body.vendor ?? null, yes: body.yes, dryRun: body.dry_run };
        return { status: 200, body: (await updates.update(order)).told };
      } catch (error) {
        if (error instanceof BadList) return conflict(error.message);
        throw error;
      }
    }),
    adminEndpoint("POST", "/admin/v1/models/rollback", async () => {
      const gone = await updates.rollback();
      return gone === null
        ? conflict("No list was taken that could be gone back from.")
        : { status: 200, body: { gone } };
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

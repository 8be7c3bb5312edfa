// The last `tollgate certify` result for each vendor, and the adapters' statements that no call has confirmed yet.

import { z } from "zod";
import { notFound } from "../../../actions/run/nearest.ts";
import type { Adapter, Catalog } from "../../../catalog/catalog.ts";
import type { EndpointSpec } from "../../../core/endpoint.ts";
import { adminEndpoint } from "../../../money/accounts/admin-accounts.ts";
import { readBody } from "../../../money/accounts/read-body.ts";
import type { Records } from "../../../platform/records/records.ts";

const KIND = "certificate";
const PAYER = "operator";
/** More than the number of vendors. */
const LISTED_MAX = 1_000;
export const DIFFERS_MAX = 50;
export const TEXT_CHARS_MAX = 300;

const text = z.string().max(TEXT_CHARS_MAX);
const whole = z.number().int().min(0);
const certificateSchema = z.strictObject({
  /** When the check ran, and the version of this program that ran it. */
  at: z.iso.datetime("must be a time such as 2026-11-22T10:00:00.000Z"),
  version: text,
  fine: whole,
  not_asked: whole,
  /** Differences from the adapter, each found by one question. */
  differs: z.array(z.strictObject({ asked: text, kind: text, status: whole, detail: text })).max(DIFFERS_MAX),
});

export type VendorCertificate = z.output<typeof certificateSchema>;
export type VendorShown = ReturnType<typeof vendorRow>;

/** `certificate` is null where no gateway with these books has stored one. */
function vendorRow({ id, configured: on, spec }: Adapter, certificate: VendorCertificate | null) {
  const beliefs = Object.entries(spec.beliefs ?? {});
  const unconfirmed = beliefs.map(([name, why]) => ({ of: name === "*" ? id : `${id}/${name}`, why }));
  return { provider: id, on, certificate, unconfirmed };
}

/** `GET /admin/v1/certificates`, `POST /admin/v1/certificates/{provider}`. */
export function certificateEndpoints(catalog: () => Catalog, records: Records): readonly EndpointSpec[] {
  const live = () => catalog().adapters({ sandbox: false });
  return [
    adminEndpoint("GET", "/admin/v1/certificates", async () => {
      const { rows } = await records.list(KIND, PAYER, LISTED_MAX, null);
      const kept = new Map(rows.map(({ id, value }) => [id, JSON.parse(value) as VendorCertificate]));
      const vendors = [...live().values()].filter(({ id, configured }) => configured || kept.has(id));
      return {
        status: 200,
        body: { certificates: vendors.map((vendor) => vendorRow(vendor, kept.get(vendor.id) ?? null)) },
      };
    }),
    adminEndpoint("POST", "/admin/v1/certificates/{provider}", async ({ request }) => {
      const body = readBody(certificateSchema, request.body);
      const id = request.params.provider ?? "";
      const known = [...live().keys()];
      if (!known.includes(id)) throw notFound(`There is no provider ${id.slice(0, 80)}`, id, known);
      await records.put({ kind: KIND, id, payer: PAYER, value: JSON.stringify(body), ttlMs: null, ifVersion: null });
      return { status: 200, body: { provider: id } };
    }),
  ];
}

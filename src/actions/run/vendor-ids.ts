// Tenants share our vendor accounts. An id that a vendor issued belongs to the payer that received it, and ids that callers choose go
// upstream as a hash of payer and id.
import { hash } from "node:crypto";
import type { ActionSpec } from "../../catalog/action.ts";
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { textsNamed } from "../../core/json.ts";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import { idsAt } from "../../upstream/missing-from.ts";
import { keepVendorJob } from "./vendor-jobs.ts";

const KIND = "vendor-id";
const DAY_MS = 24 * 3_600_000;
/** Longer than most vendors keep what an id refers to. */
const KEEP_DAYS = 90;
const IDS_MAX = 1_000;

/** One record per payer: a vendor may issue the same id to two callers from its cache. */
function recordId(payer: Payer, adapterId: string, kind: string, id: string): string {
  return hash("sha256", JSON.stringify([payer.id, adapterId, kind, id]));
}

export async function keepIssued(
  offer: ActionOffer,
  answer: unknown,
  { payer, records }: { readonly payer: Payer; readonly records: Records },
): Promise<void> {
  const issued = (offer.spec.issues ?? []).flatMap(({ kind, at, days = KEEP_DAYS, poll }) => {
    return idsAt(answer, at).map((id) => ({ kind, id, days, isWork: poll !== undefined }));
  });
  await Promise.all(
    issued.slice(0, IDS_MAX).flatMap(({ kind, id, days, isWork }) => {
      const kept = records.put({
        kind: KIND,
        id: recordId(payer, offer.adapter.id, kind, id),
        payer: payer.id,
        value: JSON.stringify({ vendor: offer.adapter.id, kind, id }),
        ttlMs: days * DAY_MS,
        ifVersion: null,
      });
      return isWork ? [kept, keepVendorJob({ offerId: offer.id, kind, id }, { payer, records })] : [kept];
    }),
  );
}

/** Filters a list that also contains other tenants' items: keeps those issued to the payer. */
export async function ownItems(
  { adapter, spec: { lists } }: ActionOffer,
  params: Params,
  answer: unknown,
  { payer, records }: { readonly payer: Payer; readonly records: Records },
): Promise<object> {
  if (lists === undefined) throw new Error("only a list is filtered");
  const all = [atPointer(answer, `/${lists.field}`) ?? []].flat();
  const idOf = (item: unknown) => recordId(payer, adapter.id, lists.kind, idsAt(item, lists.id).join());
  const known = await Promise.all(all.map((item) => records.get(KIND, idOf(item))));
  const own = all.filter((_, at) => known[at] != null).slice(0, Number(params[lists.limit]));
  return { success: true, [lists.field]: own, total: own.length };
}

/** The error for a param with an id that this payer did not receive here. It looks as if the id did not exist. */
export async function foreignId(
  offer: ActionOffer,
  params: Params,
  { payer, records }: { readonly payer: Payer; readonly records: Records },
): Promise<GatewayError | null> {
  for (const { kind, param, inside } of offer.spec.requires ?? []) {
    if (params[param] === undefined) continue;
    const ids = inside === undefined ? idsAt(params[param], "") : [...textsNamed(params[param], inside)];
    const asked = ids.slice(0, IDS_MAX);
    const known = await Promise.all(asked.map((id) => records.get(KIND, recordId(payer, offer.adapter.id, kind, id))));
    const isNamed = ids.length > 0 || inside !== undefined;
    if (isNamed && ids.length <= IDS_MAX && !known.includes(null)) continue;
    const detail = `${param}: this account has no ${kind} ${ids.join(", ").slice(0, 80)}.`;
    return new GatewayError("not_found", { of: "issued_id", param, detail });
  }
  return null;
}

const HASH_CHARS = 32;

function hashed(payer: Payer, id: string): string {
  return `tg_${hash("sha256", JSON.stringify([payer.id, id]), "base64url").slice(0, HASH_CHARS)}`;
}

/** The params to send upstream, and how to restore the caller's own ids in the answer. */
export interface HiddenIds {
  readonly params: Params;
  restore(json: string): string;
}

export function hideIds(spec: ActionSpec, params: Params, payer: Payer): HiddenIds {
  const hidden = (spec.callerIds ?? []).flatMap((name) => {
    const id = params[name];
    return typeof id === "string" ? [{ name, id, wire: hashed(payer, id) }] : [];
  });
  if (hidden.length === 0) return { params, restore: (json) => json };
  return {
    params: { ...params, ...Object.fromEntries(hidden.map(({ name, wire }) => [name, wire])) },
    restore: (json) =>
      hidden.reduce((text, { id, wire }) => text.replaceAll(wire, () => JSON.stringify(id).slice(1, -1)), json),
  };
}

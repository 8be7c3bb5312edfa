// Tenants share our vendor accounts: an id that a vendor issued belongs to the payer who got it, and ids that callers choose
// go upstream as a hash of payer and id.
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
/** Longer than most vendors keep what an id stands for. */
const KEEP_DAYS = 90;
const IDS_MAX = 1_000;

/** A record for each payer: a vendor that answers two callers from one cache has issued its id to both. */
function recordId(payer: Payer, adapterId: string, kind: string, id: string): string {
  return hash("sha256", JSON.stringify([payer.id, adapterId, kind, id]));
}

/** Remembers the ids that an answer issued to the payer. */
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

/** Of a list in which other callers' items stand as well, those that were issued to the payer. */
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

/** An error where a param names something that this payer did not get here; it looks as if there were no such thing. */
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
    return new GatewayError("not_found", { of: "issued_id", param, detail: { detail } });
  }
  return null;
}

const HASH_CHARS = 32;

function hashed(payer: Payer, id: string): string {
  return `tg_${hash("sha256", JSON.stringify([payer.id, id]), "base64url").slice(0, HASH_CHARS)}`;
}

/** The params as they go upstream, and how the answer gets the caller's own ids back. */
export interface HiddenIds {
  readonly params: Params;
  /** Puts the caller's ids back into the text of an answer. */
  restore(json: string): string;
}

/** Replaces the ids that the caller chose. */
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

// Rows for display: what is sold, by which providers, from and until when, and how old each fact is; and what an update would change.
import type { Audience, Catalog } from "../catalog.ts";
import type { Kind } from "../slug.ts";
import type { Change, SoldKind } from "./changes.ts";
import type { ModelsUpdate } from "./update.ts";

export interface SoldRow {
  readonly model: string;
  readonly kind: string;
  /** Configured providers, in order of use. */
  readonly providers: readonly string[];
  /** The day on which today's price started. */
  readonly since: string;
  readonly until: string | null;
  /** The day on which a list last matched what is sold here; null if no list has been checked. */
  readonly checked: string | null;
}

/** The oldest day: a price is only as reliable as the fact checked longest ago. */
function oldest(days: readonly (string | null)[]): string | null {
  return days.includes(null) ? null : (days.toSorted()[0] ?? null);
}

export function soldRows(catalog: Catalog, update: ModelsUpdate | null, audience: Audience): readonly SoldRow[] {
  const sold = [...catalog.models(audience), ...catalog.embeddings(audience), ...catalog.unitModels(audience)];
  return sold
    .map((model): SoldRow => {
      const { slug, kind, sale, offers, retires } = model;
      const list: SoldKind = "rates" in sale ? "unitModels" : (kind as Kind);
      const days = offers.map(
        (offer) => update?.vendors[offer.adapter.id]?.[list]?.[offer.upstreamModel]?.seen ?? null,
      );
      const providers = [...new Set(offers.map(({ adapter }) => adapter.id))];
      return { model: slug, kind, providers, since: sale.since, until: retires?.on ?? null, checked: oldest(days) };
    })
    .sort((a, b) => (a.model < b.model ? -1 : 1));
}

export const SOLD_HEADING = ["MODEL", "KIND", "SINCE", "UNTIL", "CHECKED", "SERVED BY"];

const DAY_MS = 86_400_000;

function ageText(checked: string | null, day: string): string {
  if (checked === null) return "with this release";
  const days = Math.round((Date.parse(day) - Date.parse(checked)) / DAY_MS);
  return days === 0 ? "today" : `${days} ${days === 1 ? "day" : "days"} ago`;
}

export function soldCells({ model, kind, since, until, checked, providers }: SoldRow, day: string): readonly string[] {
  return [model, kind, since, until ?? "", ageText(checked, day), providers.join(", ") || "-"];
}

export const CHANGE_HEADING = ["", "MODEL", "WHAT", "WAS", "NOW", "NOT TAKEN, BECAUSE"];

/** A change as table cells: `+` is new, `~` a change, `-` an end, and `!` a change that needs approval. */
export function changeCells({ vendor, model, what, was, now, held }: Change, yes: boolean): readonly string[] {
  const sign = what === "new" ? "+" : what === "ends" ? "-" : "~";
  return [held !== null && !yes ? "!" : sign, `${vendor}/${model}`, what, was, now, yes ? "" : (held ?? "")];
}

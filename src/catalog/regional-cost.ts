// Regional model costs: a cloud may charge more in some regions, and one of the operator's settings tells which region is used.
import { z } from "zod";
import { count, type Said } from "./said.ts";

const place = z.strictObject({
  /** The prefix of the setting's value; the first match counts. Empty matches any value. */
  begins: z.string(),
  /** By how much models cost more there than their adapter states, according to a price list or other sources. */
  percent: z.number().int().min(0).max(100),
  /** A safety margin on top, if no list confirms the percentage. */
  marginPercent: count.optional(),
});

export const regionalCost = z.strictObject({
  /** The name of one of the adapter's settings. */
  setting: z.string(),
  places: z.array(place).min(1),
  /** The id prefix of models that cost the same from every region. */
  everywhere: z.string().min(1).optional(),
});

export type RegionalCost = Said<z.infer<typeof regionalCost>>;
export type Place = RegionalCost["places"][number];

/** The place that a setting's value means; undefined if it is unknown. */
export function placeOf({ places }: RegionalCost, value: string): Place | undefined {
  return places.find(({ begins }) => value.startsWith(begins));
}

/** The percentage that we assume a model costs more there, including the margin. */
export function percentAt({ percent, marginPercent = 0 }: Place): number {
  return percent + marginPercent + (percent * marginPercent) / 100;
}

/** The same for a model at a configured vendor; 0 if its region is unknown. */
export function regionalPercent(
  cost: RegionalCost | undefined,
  settings: Readonly<Record<string, string>>,
  upstreamModel: string,
): number {
  const value = cost === undefined ? undefined : settings[cost.setting];
  if (cost === undefined || value === undefined) return 0;
  if (cost.everywhere !== undefined && upstreamModel.startsWith(cost.everywhere)) return 0;
  const place = placeOf(cost, value);
  return place === undefined ? 0 : percentAt(place);
}

// What models cost us where they run: a cloud may take more in one place than in another, and a setting of the operator's says in which they do.
import { z } from "zod";
import { count, type Said } from "./said.ts";

const place = z.strictObject({
  /** How the setting's value begins; the first place that fits counts. Empty: any value. */
  begins: z.string(),
  /** By how much models cost more there than their adapter says, by a list of prices or by what others say. */
  percent: z.number().int().min(0).max(100),
  /** What they are taken to cost beside that, where no list has confirmed it. */
  marginPercent: count.optional(),
});

export const regionalCost = z.strictObject({
  /** One of the adapter's settings. */
  setting: z.string(),
  places: z.array(place).min(1),
  /** How the ids of models begin that cost the same wherever they are asked from. */
  everywhere: z.string().min(1).optional(),
});

export type RegionalCost = Said<z.infer<typeof regionalCost>>;
export type Place = RegionalCost["places"][number];

/** The place that a setting's value is; undefined: it is none that is known. */
export function placeOf({ places }: RegionalCost, value: string): Place | undefined {
  return places.find(({ begins }) => value.startsWith(begins));
}

/** By how many percent more a model is taken to cost there than its adapter says, the margin within it. */
export function percentAt({ percent, marginPercent = 0 }: Place): number {
  return percent + marginPercent + (percent * marginPercent) / 100;
}

/** The same of a model at a vendor as it is set up; 0 where nothing says where it runs. */
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

// What ours are held against: prices, and ends of models, that others keep, as the programs beside test/fixtures/prices wrote them on the day they say.
import { readFileSync } from "node:fs";
import { z } from "zod";

const day = z.string().regex(/^\d{4}-\d{2}-\d{2}$/);
const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/prices/${name}`, import.meta.url), "utf8"));

const prices = z.object({
  source: z.string(),
  taken: day,
  /** In the format that `tollgate prices check --file` reads. */
  providers: z.array(z.object({ id: z.string(), models: z.array(z.record(z.string(), z.unknown())) })),
});

export const PRICE_LIST = prices.parse(read("list.json"));

/** By adapter, and the vendor's name of a model: the day of its end. */
const ends = z.object({ source: z.string(), taken: day, adapters: z.record(z.string(), z.record(z.string(), day)) });

export const ENDS_LIST = ends.parse(read("ends.json"));

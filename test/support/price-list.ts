// References for our catalog: prices, and retirements of models, from other sources, as the programs beside test/fixtures/prices wrote them
// on the stated day.
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

const byModel = <Fact extends z.ZodType>(fact: Fact) => z.record(z.string(), z.record(z.string(), fact));
const ends = z.object({
  source: z.string(),
  taken: day,
  /** By adapter and the vendor's name of a model: the day of its retirement. */
  adapters: byModel(day),
  /** By adapter, place and model: the factor of its price there to its price elsewhere. */
  regions: z.record(z.string(), byModel(z.number())),
  /** Of models that the first list lacks: USD per million tokens of input, output, and cache reads. */
  prices: byModel(z.array(z.number())),
  /** By adapter: all models of sound, images, ranks and moderation. */
  units: z.record(z.string(), z.array(z.string())),
});

export const ENDS_LIST = ends.parse(read("ends.json"));

const count = z.number().int().positive().nullable();
const fact = z.tuple([count, count, z.boolean()]).nullable();
const facts = z.object({
  source: z.array(z.string()),
  taken: day,
  /** By `<adapter>/<vendor's name of a model>`: context, longest answer and image input, from each of the sources. */
  models: z.record(z.string(), z.tuple([fact, fact])),
});

export const FACTS_LIST = facts.parse(read("facts.json"));

// The list of prices that ours are held against: facts that others keep, as test/fixtures/prices/take.py wrote them on the day that it says.
import { readFileSync } from "node:fs";
import { z } from "zod";

const file = z.object({
  source: z.string(),
  taken: z.string().regex(/^\d{4}-\d{2}-\d{2}$/),
  /** In the format that `tollgate prices check --file` reads. */
  providers: z.array(z.object({ id: z.string(), models: z.array(z.record(z.string(), z.unknown())) })),
});

export const PRICE_LIST = file.parse(
  JSON.parse(readFileSync(new URL("../fixtures/prices/list.json", import.meta.url), "utf8")),
);

// Changes a record that several processes may change at once.
import type { PutRecord, Records } from "./records.ts";

/** Replaces a record's value. `change` gets the present value (null: none) and returns the new one; null leaves the record as it is. */
export async function revise(
  records: Pick<Records, "get" | "put">,
  place: Omit<PutRecord, "value" | "ifVersion">,
  change: (value: string | null) => string | null | Promise<string | null>,
): Promise<void> {
  for (;;) {
    const kept = await records.get(place.kind, place.id);
    const value = await change(kept?.value ?? null);
    // Another process wrote in between: try again. Each round one process succeeds, so this ends.
    if (value === null || (await records.put({ ...place, value, ifVersion: kept?.version ?? 0 })) !== null) return;
  }
}

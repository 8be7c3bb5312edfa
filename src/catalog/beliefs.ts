// What an adapter says of a vendor that no source and no call has confirmed: told in the list of actions and by `doctor`.
import type { AdapterSpec } from "./adapter.ts";

/** The words on one action; of a vendor without actions, ask with `*`. */
export function beliefsAbout({ beliefs = {} }: Pick<AdapterSpec, "beliefs">, action: string): readonly string[] {
  return [...new Set(["*", action])].flatMap((name) => beliefs[name] ?? []);
}

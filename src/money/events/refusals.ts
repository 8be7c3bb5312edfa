// Refusals by a ceiling or a cap: told once for each period of it and each height, however many calls it refuses in a second.
import type { Nano } from "../../core/money.ts";
import type { EventLog } from "./event-log.ts";

/** Those that this process has told lately; one that is told twice has the same id. */
const KNOWN_MAX = 10_000;

export interface OverCeiling {
  readonly accountId: string;
  readonly keyId: string;
  /** As the ledger counts it. */
  readonly scope: string;
  readonly maxNano: Nano;
  readonly resetsAtMs: number;
}

/** `onBroken` hears that one could not be kept: the next refusal tells it again. */
export function refusalReporter(log: Pick<EventLog, "tell">, onBroken: (error: unknown) => void) {
  const known = new Set<string>();
  return ({ accountId, keyId, scope, maxNano, resetsAtMs }: OverCeiling): void => {
    const words = [accountId, scope, resetsAtMs, maxNano] as const;
    const name = words.join(" ");
    if (known.has(name)) return;
    const [oldest] = known.size >= KNOWN_MAX ? known : [];
    if (oldest !== undefined) known.delete(oldest);
    known.add(name);
    const data = { scope, ceiling_nano_usd: maxNano, resets_at_ms: resetsAtMs, key_id: keyId };
    log.tell({ kind: "budget.refused", accountId, data }, ...words).catch((error: unknown) => {
      known.delete(name);
      onBroken(error);
    });
  };
}

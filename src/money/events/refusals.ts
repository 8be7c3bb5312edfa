// Refusals by a ceiling or a cap: reported once per period and amount, however many calls it refuses.
import type { Nano } from "../../core/money.ts";
import type { EventLog } from "./event-log.ts";

/** Recently reported by this process; a repeated report has the same id. */
const KNOWN_MAX = 10_000;

export interface OverCeiling {
  readonly accountId: string;
  readonly keyId: string;
  /** As named in the ledger. */
  readonly scope: string;
  readonly maxNano: Nano;
  readonly resetsAtMs: number;
}

/** `onBroken` is called when an event could not be stored; the next refusal reports it again. */
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

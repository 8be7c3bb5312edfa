// What calls lack, reported once however many calls lack it: room below a ceiling or a cap, and a larger budget of a run that may ask.
import { makeRoom } from "../../core/maps.ts";
import { type Nano, usdText } from "../../core/money.ts";
import type { OpenRun } from "../runs/open-run.ts";
import type { Event, EventLog } from "./event-log.ts";

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
export function refusalReporters(log: Pick<EventLog, "tell">, onBroken: (error: unknown) => void) {
  const known = new Set<string>();
  const report = (event: Omit<Event, "id" | "atMs">, ...words: readonly (string | number)[]): void => {
    const name = `${event.kind} ${words.join(" ")}`;
    if (known.has(name)) return;
    makeRoom(known, KNOWN_MAX);
    known.add(name);
    log.tell(event, ...words).catch((error: unknown) => {
      known.delete(name);
      onBroken(error);
    });
  };
  return {
    /** Once per period and amount. */
    overCeiling({ accountId, keyId, scope, maxNano, resetsAtMs }: OverCeiling): void {
      const data = { scope, ceiling_nano_usd: maxNano, resets_at_ms: resetsAtMs, key_id: keyId };
      report({ kind: "budget.refused", accountId, data }, accountId, scope, resetsAtMs, maxNano);
    },
    /** Once per budget. */
    runAsks({ id, record, budgetNano, bounds, leftNano }: OpenRun): void {
      const { accountId, rules } = record;
      const left = { budget_nano_usd: budgetNano, remaining_usd: usdText(leftNano), ask_seconds: rules.askSeconds };
      const words = bounds.map(({ maxNano }) => maxNano);
      report({ kind: "run.asks", accountId, data: { run_id: id, ...left } }, accountId, id, ...words);
    },
  };
}

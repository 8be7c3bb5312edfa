// The ledger's unit, except that the storage thread decides again about each hold that the process has decided on, as of then, and rejects
// it unless it agrees: its state is the truth.
import { openUnit as openLedger } from "../../../../src/money/ledger/sqlite/unit.ts";
import type { OpenUnit } from "../../../../src/platform/storage/sqlite-unit.ts";

export const openUnit: OpenUnit = (database, time) => {
  let decided: { epochMs: number; elapsedMs: number } | null = null;
  const unit = openLedger(database, {
    get epochMs() {
      return (decided ?? time).epochMs;
    },
    get elapsedMs() {
      return (decided ?? time).elapsedMs;
    },
  });
  const { reserve } = unit.operations as { reserve: (list: unknown) => { outcome: string } };
  const place = ([list, epochMs, elapsedMs]: readonly [unknown, number, number]): null => {
    decided = { epochMs, elapsedMs };
    const { outcome } = reserve(list);
    decided = null;
    if (outcome !== "held") throw new Error(`the storage thread says ${outcome}`);
    return null;
  };
  return { ...unit, operations: { ...unit.operations, place } };
};

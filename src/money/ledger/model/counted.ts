// Where a charge counts, for everything that adds postings up again: migration, and the doctors.
import type { NumberedPosting } from "../archive/archive.ts";
import { INFERENCE_SCOPE, keyScope } from "./state.ts";
import { costIn, windowList } from "./window-list.ts";
import { countingDay } from "./windows.ts";

type Place = Pick<NumberedPosting, "keyId" | "inference" | "windows">;
type Charge = Place & Pick<NumberedPosting, "day" | "amountNano" | "absorbedNano" | "upstreamNano">;

export interface Counted {
  readonly scope: string;
  readonly day: number;
  readonly spent: number;
  readonly absorbed: number;
  /** It adds to a sum of cost, which uncharged calls move too: that sum may exceed what its postings add up to. */
  readonly isCost: boolean;
}

/** The scopes that count a hold or charge itself. */
export function chargedScopes({ keyId, inference, windows }: Place): string[] {
  const brought = windowList(windows ?? "").charged.map(({ scope }) => scope);
  return [keyScope(keyId ?? ""), ...(inference ? [INFERENCE_SCOPE] : []), ...brought];
}

export function* countedIn(charge: Charge): Generator<Counted> {
  const { keyId, day, windows, amountNano: spent, absorbedNano: absorbed, upstreamNano } = charge;
  if (keyId === null || day === null) return;
  for (const scope of chargedScopes(charge))
    yield { scope, day: countingDay(scope, day), spent, absorbed, isCost: false };
  for (const window of windowList(windows ?? "").costs) {
    const cost = costIn(window, spent, upstreamNano);
    if (cost > 0) yield { scope: window.scope, day, spent: cost, absorbed: 0, isCost: true };
  }
}

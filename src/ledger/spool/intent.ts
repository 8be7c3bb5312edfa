// How a call is to end, as it stands in the spool's file.
import type { HoldOrigin, HoldRef, KeyFate, PostRequest } from "../model/ledger.ts";
import { type PackedLeg, packLegs, unpackLegs } from "../model/legs.ts";

/** How a hold is to end, and what it was placed with where this process placed it. */
export type Intent = { readonly origin: HoldOrigin | null } & (
  | { readonly op: "post"; readonly request: PostRequest }
  | { readonly op: "void"; readonly hold: HoldRef; readonly reason: string; readonly keyFate: KeyFate }
);

/** As it stands in the file: legs in their short form, which releases that knew none have left out. */
type Kept =
  | Extract<Intent, { readonly op: "void" }>
  | {
      readonly op: "post";
      readonly origin: HoldOrigin | null;
      readonly request: Omit<PostRequest, "legs"> & { readonly legs?: readonly PackedLeg[] };
    };

export function intentText(intent: Intent): string {
  if (intent.op === "void") return JSON.stringify(intent);
  const { legs, ...request } = intent.request;
  const kept: Kept = { ...intent, request: legs.length === 0 ? request : { ...request, legs: packLegs(legs) } };
  return JSON.stringify(kept);
}

export function intentIn(text: string): Intent {
  const kept = JSON.parse(text) as Kept;
  if (kept.op === "void") return kept;
  const { legs, ...request } = kept.request;
  return { ...kept, request: { ...request, legs: unpackLegs(legs) } };
}

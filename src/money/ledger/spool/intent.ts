// How a call ends, in the spool file's form.
import type { Nano } from "../../../core/money.ts";
import type { HoldOrigin, HoldRef, KeyFate, PostRequest } from "../model/ledger.ts";
import { type PackedLeg, packLegs, unpackLegs } from "../model/legs.ts";
import { windowsIn, windowsText } from "../model/window-list.ts";

/** How a hold ends, and its origin where this process placed it. */
export type Intent = { readonly origin: HoldOrigin | null } & (
  | { readonly op: "post"; readonly request: PostRequest }
  | ({ readonly op: "void"; readonly hold: HoldRef; readonly reason: string } & VoidFate)
);

interface VoidFate {
  readonly keyFate: KeyFate;
  /** Absent: it cost nothing, or the release did not record it. */
  readonly upstreamNano?: Nano;
}

/** Windows in compact form; releases without windows omit them. */
type KeptOrigin = Omit<HoldOrigin, "windows"> & { readonly windows?: string };

/** The stored form; legs are compact, and releases without legs omit them. */
type Kept =
  | (Omit<Extract<Intent, { readonly op: "void" }>, "origin"> & { readonly origin: KeptOrigin | null })
  | {
      readonly op: "post";
      readonly origin: KeptOrigin | null;
      readonly request: Omit<PostRequest, "legs"> & { readonly legs?: readonly PackedLeg[] };
    };

function keptOrigin(origin: HoldOrigin | null): KeptOrigin | null {
  if (origin === null) return null;
  const { windows, ...rest } = origin;
  return windows.length === 0 ? rest : { ...rest, windows: windowsText(windows) };
}

function originIn(kept: KeptOrigin | null): HoldOrigin | null {
  return kept === null ? null : { ...kept, windows: windowsIn(kept.windows) };
}

export function intentText(intent: Intent): string {
  const origin = keptOrigin(intent.origin);
  if (intent.op === "void") return JSON.stringify({ ...intent, origin } satisfies Kept);
  const { legs, ...request } = intent.request;
  const kept: Kept = { ...intent, origin, request: legs.length === 0 ? request : { ...request, legs: packLegs(legs) } };
  return JSON.stringify(kept);
}

export function intentIn(text: string): Intent {
  const kept = JSON.parse(text) as Kept;
  const origin = originIn(kept.origin);
  if (kept.op === "void") return { ...kept, origin };
  const { legs, ...request } = kept.request;
  return { ...kept, origin, request: { ...request, legs: unpackLegs(legs) } };
}

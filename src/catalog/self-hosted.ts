// A vendor whose software the operator may run himself: the same actions at the same prices, asked for as that server wants them.
import type { ActionSpec } from "./action.ts";
import type { Auth } from "./auth.ts";

/** A vendor's own software, run by the operator: where it differs from what the vendor sells. */
export interface SelfHostedSpec {
  /** How it is asked for who calls, and in which variables the key is, of which none need be set. Default: no key is sent. */
  readonly login?: { readonly auth: Auth; readonly keyEnv: readonly string[] };
  /** Actions that it does not have: they are listed as not configured. */
  readonly lacks?: readonly string[];
  /** What it takes and answers otherwise, by action. */
  readonly actions?: Readonly<Record<string, Partial<Pick<ActionSpec, "request" | "content" | "rules">>>>;
}

/** What a server of one's own takes for a call. */
export const SELF_HOSTED_COST = { upstreamCents: 0, upstreamMissCents: 0 };

/** Why an action is not configured that the vendor sells and its own server does not have. */
export const NOT_SELF_HOSTED = "The operator runs this vendor's server himself, and it does not have this action.";

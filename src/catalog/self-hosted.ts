// A vendor whose software the operator may run himself: the same actions at the same prices, asked for as that server wants them.
import { z } from "zod";
import { actionName } from "./action.ts";
import { ruleSchema } from "./answer-rule.ts";
import { auth } from "./auth.ts";
import { request } from "./request-spec.ts";
import { envNames, pointer, type Said } from "./said.ts";

const otherwise = z.strictObject({
  request: request.optional(),
  content: z.array(pointer).min(1).optional(),
  rules: z.array(ruleSchema).optional(),
});

/** A vendor's own software, run by the operator: where it differs from what the vendor sells. */
export const selfHosted = z.strictObject({
  /** How it is asked for who calls, and in which variables the key is, of which none need be set. Default: no key is sent. */
  login: z.strictObject({ auth, keyEnv: envNames }).optional(),
  /** Actions that it does not have: they are listed as not configured. */
  lacks: z.array(actionName).optional(),
  /** What it takes and answers otherwise, by action. */
  actions: z.record(actionName, otherwise).optional(),
});
export type SelfHostedSpec = Said<z.infer<typeof selfHosted>>;

/** What a server of one's own takes for a call. */
export const SELF_HOSTED_COST = { upstreamCents: 0, upstreamMissCents: 0 };

/** Why an action is not configured that the vendor sells and its own server does not have. */
export const NOT_SELF_HOSTED = "The operator runs this vendor's server himself, and it does not have this action.";

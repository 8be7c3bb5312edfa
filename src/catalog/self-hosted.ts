// A vendor whose software the operator can self-host: the same actions at the same prices, in that server's request format.
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

/** The vendor's software, run by the operator: how it differs from the vendor's service. */
export const selfHosted = z.strictObject({
  /** How to authenticate, and the variables with the key, all optional. Default: no key is sent. */
  login: z.strictObject({ auth, keyEnv: envNames }).optional(),
  /** Actions that it does not have: they are listed as not configured. */
  lacks: z.array(actionName).optional(),
  /** Overrides of requests and answers, by action. */
  actions: z.record(actionName, otherwise).optional(),
});
export type SelfHostedSpec = Said<z.infer<typeof selfHosted>>;

export const SELF_HOSTED_COST = { upstreamCents: 0, upstreamMissCents: 0 };

/** The reason shown for an action that the vendor sells but the self-hosted server lacks. */
export const NOT_SELF_HOSTED = "The operator runs this vendor's server himself, and it does not have this action.";

// A vendor whose software the operator runs himself: the same actions at the same prices, asked for as that server wants them.
import type { AdapterSpec, SelfHostedSpec } from "./adapter.ts";
import { noAuth } from "./auth.ts";

/** What a server of one's own takes for a call. */
const FREE = { upstreamCents: 0, upstreamMissCents: 0 };

/** Why an action is not configured that the vendor sells and its own server does not have. */
export const NOT_SELF_HOSTED = "The operator runs this vendor's server himself, and it does not have this action.";

/** The adapter as it speaks to such a server. */
export function asSelfHosted(spec: AdapterSpec, { login, actions: others = {} }: SelfHostedSpec): AdapterSpec {
  const { keyParts, otherLogins, settings, ...rest } = spec;
  const actions = Object.entries(spec.actions ?? {}).map(
    ([name, action]) => [name, { ...action, ...others[name], ...FREE }] as const,
  );
  return {
    ...rest,
    auth: login?.auth ?? noAuth,
    keyEnv: login?.keyEnv ?? [],
    keyOptional: true,
    actions: Object.fromEntries(actions),
  };
}

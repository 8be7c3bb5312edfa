// The pages of an account, in front of the endpoints that its callers have over HTTP.
import { systemClock } from "../core/clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { accountPages } from "../edge/web/account/account-pages.ts";
import { askInside } from "./ask-inside.ts";
import { playgroundEndpoints } from "./open-playground.ts";
import type { Work } from "./open-work.ts";
import { inEnvelope } from "./public-endpoints.ts";

/** Empty: the settings say that there are none. */
export function openAccountPages(
  endpoints: readonly Endpoint[],
  { sessions, callers, deps, url }: Pick<Work, "sessions" | "callers" | "deps" | "url">,
): readonly Endpoint[] {
  if (sessions === null) return [];
  const asking = askInside(endpoints, deps);
  const pages = accountPages({
    sessions,
    base: url.get,
    epochMs: systemClock.epochMs,
    draining: deps.draining,
    async askAs(from, { accountId, keyId, csrf }) {
      const caller = await callers.callerOfKey(accountId, keyId);
      if (!(caller instanceof GatewayError)) return asking({ caller, from, headers: { "x-csrf-token": csrf } });
      if (caller.code === "ledger_unavailable") throw caller;
      return null;
    },
  });
  return [...inEnvelope(pages), ...playgroundEndpoints(endpoints)];
}

// The operator's console, in front of the endpoints of the admin listener.
import { randomBytes } from "node:crypto";
import { systemClock } from "../core/clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import type { OpenIdProvider } from "../edge/oauth/openid-provider.ts";
import { createOpenIdWay } from "../edge/oauth/openid-way.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { consolePages } from "../edge/web/console/console-pages.ts";
import { OPENID_CALLBACK, type OperatorDoor } from "../edge/web/console/openid-sign-in.ts";
import { createOperatorSessions } from "../edge/web/console/operator-sessions.ts";
import type { SignInParts } from "../edge/web/console/sign-in.ts";
import { assetEndpoints } from "../edge/web/kit/assets.ts";
import type { Config } from "../platform/config.ts";
import { addressWindowKey } from "../platform/limits/address-window-key.ts";
import type { Log } from "../platform/observe/log.ts";
import { sharedWindow } from "../platform/records/shared-window.ts";
import { askInside } from "./ask-inside.ts";
import { OPERATOR_HEADER, PROVEN_HEADER } from "./operator-log.ts";
import { inEnvelope } from "./public-endpoints.ts";
import type { Stores } from "./stores.ts";

export interface ConsoleDoorParts {
  readonly config: Config;
  readonly log: Log;
  readonly stores: Stores;
  readonly adminToken: string;
  readonly deps: ServeDeps;
  /** The OpenID provider; null: there is none. */
  readonly openId: OpenIdProvider | null;
  /** Where browsers reach the admin listener, without a slash at the end. */
  readonly base: () => string;
}

type SignInBy = Pick<SignInParts, "take" | "addressKey">;

/** Null: the settings name no operator of the provider. */
function operatorDoor(
  { config, log, stores, openId: provider, base }: ConsoleDoorParts,
  by: SignInBy,
): OperatorDoor | null {
  const { oidcOperators: rules } = config;
  if (provider === null || rules === null) return null;
  const told = rules.map(({ claim }) => claim).filter((claim) => claim !== "sub" && claim !== "email");
  const own = { callback: OPENID_CALLBACK, name: "console_oidc", claims: [...new Set(told)] };
  return {
    provider,
    rules,
    way: createOpenIdWay({ provider, records: stores.records, base, ...by, ...own }),
    onStranger: ({ subject, email }) =>
      log.logger.warn({ subject, email }, "a person of the OpenID provider is no operator"),
  };
}

export function openOperatorPages(endpoints: readonly Endpoint[], parts: ConsoleDoorParts): readonly Endpoint[] {
  const { config, stores, adminToken, deps, base } = parts;
  const { records } = stores;
  const asking = askInside(endpoints, deps);
  const by = { take: sharedWindow(records, systemClock), addressKey: addressWindowKey };
  const operators = JSON.stringify([config.oidcIssuer, config.oidcOperators]);
  const pages = consolePages({
    ...by,
    sessions: createOperatorSessions(records, { adminToken, operators, base }),
    operators: operatorDoor(parts, by),
    isAdmin: deps.isAdmin,
    epochMs: systemClock.epochMs,
    draining: deps.draining,
    reference: () => `console ${randomBytes(6).toString("hex")}`,
    askAs(from, { name, isProven }) {
      const proof = isProven ? { [PROVEN_HEADER]: "1" } : {};
      return asking({ caller: null, from, headers: { [OPERATOR_HEADER]: name, ...proof } });
    },
  });
  return inEnvelope([...assetEndpoints(), ...pages]);
}

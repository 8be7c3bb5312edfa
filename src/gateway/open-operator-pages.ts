// The operator's console, in front of the endpoints of the admin listener.
import { randomBytes } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Endpoint } from "../endpoint.ts";
import { addressWindowKey } from "../limits/address-window-key.ts";
import { sharedWindow } from "../records/shared-window.ts";
import type { ServeDeps } from "../serve/deps.ts";
import type { Stores } from "../stores.ts";
import { consolePages } from "../web/console/console-pages.ts";
import { createOperatorSessions } from "../web/console/operator-sessions.ts";
import { assetEndpoints } from "../web/kit/assets.ts";
import { askInside } from "./ask-inside.ts";
import { OPERATOR_HEADER } from "./operator-log.ts";
import { inEnvelope } from "./public-endpoints.ts";

export interface ConsoleDoorParts {
  readonly stores: Stores;
  readonly adminToken: string;
  readonly deps: ServeDeps;
}

export function openOperatorPages(
  endpoints: readonly Endpoint[],
  { stores, adminToken, deps }: ConsoleDoorParts,
): readonly Endpoint[] {
  const { records } = stores;
  const asking = askInside(endpoints, deps);
  const pages = consolePages({
    sessions: createOperatorSessions(records, adminToken),
    isAdmin: deps.isAdmin,
    take: sharedWindow(records, systemClock),
    addressKey: addressWindowKey,
    epochMs: systemClock.epochMs,
    draining: deps.draining,
    reference: () => `console ${randomBytes(6).toString("hex")}`,
    askAs: (from, name) => asking({ caller: null, from, headers: { [OPERATOR_HEADER]: name } }),
  });
  return inEnvelope([...assetEndpoints(), ...pages]);
}

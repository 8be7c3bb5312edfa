// The operator's pages on the admin listener, after sign-in with the admin token or the OpenID provider: each shows what the operator's
// endpoints return and changes what they change.

import type { EndpointSpec, GatewayRequest } from "../../../core/endpoint.ts";
import type { Refusal } from "../../../money/accounts/admin-endpoints.ts";
import type { Figures } from "../../../platform/observe/figures.ts";
import { toSignIn } from "../../oauth/forms.ts";
import { isCsrf } from "../../oauth/sessions.ts";
import { eventsSection } from "../account/events.ts";
import { callWith, findSection, has, type Look } from "../find.ts";
import { html } from "../html.ts";
import { type Ask, bodyOr, withQuery } from "../kit/ask.ts";
import { liveEndpoint } from "../kit/live.ts";
import type { Places } from "../kit/page.ts";
import { type Door, sectionEndpoints } from "../kit/sections.ts";
import { problem } from "../kit/shown.ts";
import { type AccountShown, accountSection, accountsSection } from "./accounts.ts";
import { callSection, callsSection } from "./calls.ts";
import type { Operator } from "./operator-sessions.ts";
import { pricesSection } from "./prices.ts";
import { routesSection } from "./routes.ts";
import { RUNNING_LIVE, runningNow, runningSection } from "./running.ts";
import { isOwnOrigin, operatorSignIn, type SignInParts } from "./sign-in.ts";
import { createGlance, TODAY_LIVE, todaySection } from "./today.ts";
import { doctorSection, logSection } from "./upkeep.ts";

const PLACES: Places = {
  Health: { Overview: "/console", Routes: "/console/routes", Running: "/console/running", Doctor: "/console/doctor" },
  Money: { Accounts: "/console/accounts", Calls: "/console/calls", Prices: "/console/prices" },
  Settings: { Events: "/console/events", Log: "/console/log" },
};

const FIND = "/console/find";

/** Accounts by name or id; and a key by its id, on its account's page. */
const accountOrKey: Look = async (ask, words) => {
  const found = ask<{ accounts: readonly AccountShown[] }>(
    "GET",
    withQuery("/admin/v1/accounts", { q: words, limit: "9" }),
  );
  const { accounts } = await bodyOr(found, { accounts: [] });
  return accounts.map(({ name, account_id: id }) =>
    has(`${name} ${id}`, words)
      ? { kind: "Account", name, href: `/console/accounts/${id}`, note: id }
      : { kind: "Key", name: words, href: withQuery(`/console/accounts/${id}`, { q: words }), note: name },
  );
};

/** The refresh interval of data that many viewers may watch at once. */
const EVERY_MS = 5_000;

export interface ConsoleParts extends SignInParts {
  readonly epochMs: () => number;
  readonly figures: Pick<Figures, "days">;
  readonly draining: () => boolean;
  readonly reference: () => string;
  /** Calls the operator's endpoints; the log of changes names this operator. */
  readonly askAs: (request: GatewayRequest, operator: Operator) => Ask;
}

export function consolePages(parts: ConsoleParts): readonly EndpointSpec[] {
  const { sessions, epochMs, figures, draining, askAs } = parts;
  const door: Door = {
    places: PLACES,
    find: FIND,
    signOut: "/console/sign-out",
    toSignIn: (request) => toSignIn(request, "/console/sign-in"),
    async enter(request) {
      const session = await sessions.of(request);
      return session === null ? null : { ask: askAs(request, session), csrf: session.csrf };
    },
    async notice(ask) {
      const { refusals } = await bodyOr(ask<{ refusals: readonly Refusal[] }>("GET", "/admin/v1/routes"), {
        refusals: [],
      });
      return html`${refusals.map(({ message }) => problem(message))}`;
    },
    isOurs: (request, csrf, sent) => isOwnOrigin(request) && isCsrf({ csrf }, sent),
  };
  const glance = createGlance(epochMs, figures);
  const lead = "What happened in all accounts in the last 30 days, and the webhooks that receive it.";
  const sections = [
    todaySection(glance, figures, epochMs),
    accountsSection(epochMs),
    accountSection(parts.reference, epochMs),
    callsSection,
    callSection,
    findSection(FIND, PLACES, [callWith("/admin/v1/transactions", "/console/calls"), accountOrKey]),
    routesSection,
    runningSection,
    pricesSection(epochMs),
    eventsSection({ path: "/console/events", api: "/admin/v1", lead }),
    doctorSection,
    logSection,
  ];
  const live = { door, draining, everyMs: EVERY_MS };
  return [
    ...operatorSignIn(parts, door),
    ...sections.flatMap((section) => sectionEndpoints(section, door)),
    liveEndpoint({ ...live, path: TODAY_LIVE, part: glance }),
    liveEndpoint({ ...live, path: RUNNING_LIVE, part: runningNow }),
  ];
}

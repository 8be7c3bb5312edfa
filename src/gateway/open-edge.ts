// Entry points besides plain HTTP calls: sign-in and granted clients, MCP, the account pages, the operator's console.
import { randomBytes } from "node:crypto";
import { EVERYBODY } from "../catalog/catalog.ts";
import { wholeOf } from "../core/chunk-list.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { createCancels } from "../edge/mcp/cancels.ts";
import { mcpEndpoints } from "../edge/mcp/mcp-endpoints.ts";
import { challengeAt } from "../edge/oauth/access-tokens.ts";
import { createGrants } from "../edge/oauth/grants.ts";
import type { OpenIdProvider } from "../edge/oauth/openid-provider.ts";
import { createOpenIdWay } from "../edge/oauth/openid-way.ts";
import type { ReadDocument } from "../edge/oauth/server.ts";
import { createSessions, type Sessions } from "../edge/oauth/sessions.ts";
import { type OAuthParts, oauthEndpoints, type PeopleParts, peopleEndpoints, signedIn } from "../edge/people/oauth.ts";
import type { Choice } from "../edge/people/person-pages.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { accountPages } from "../edge/web/account/account-pages.ts";
import { consolePages } from "../edge/web/console/console-pages.ts";
import { OPENID_CALLBACK, type OperatorDoor } from "../edge/web/console/openid-sign-in.ts";
import { OPERATOR_HEADER, PROVEN_HEADER } from "../edge/web/console/operator-log.ts";
import { createOperatorSessions } from "../edge/web/console/operator-sessions.ts";
import type { SignInParts } from "../edge/web/console/sign-in.ts";
import { assetEndpoints } from "../edge/web/kit/assets.ts";
import type { Config } from "../platform/config.ts";
import { addressWindowKey, createRequestWindows } from "../platform/limits/request-windows.ts";
import { sharedWindow } from "../platform/records/shared-window.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { askInside, callInside } from "./ask-inside.ts";
import type { OpenCallers } from "./callers.ts";
import type { OpenActions } from "./open-actions.ts";
import type { Foundation } from "./open-foundation.ts";
import type { Work } from "./open-work.ts";
import { createPlayAccounts, playgroundEndpoints } from "./playground.ts";
import { inEnvelope } from "./public-endpoints.ts";

/** The most entries in a key's list. */
const SERVICES_MAX = 200;
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]", "::1"];

export interface People {
  readonly endpoints: readonly Endpoint[];
  readonly sessions: Sessions;
  readonly doors: Pick<ServeDeps, "signedIn" | "challenge">;
  /** Null: people can sign in only with keys. */
  readonly openId: OpenIdProvider | null;
}

/** What a person can grant a client, from what is for sale at that time. */
function choicesOf({ actionCatalog }: OpenActions): readonly Choice[] {
  const actions = actionCatalog.all(EVERYBODY);
  const search = actions.filter(({ facts }) => facts.category === "search").map(({ id }) => id);
  // The form preselects the first: what most agents need, and nothing that writes or buys.
  return [
    { id: "search", words: "models and search only", services: search.slice(0, SERVICES_MAX), models: null },
    { id: "models", words: "models only", services: [], models: null },
    { id: "actions", words: "actions only, no models", services: null, models: [] },
    { id: "all", words: "models and all actions", services: null, models: null },
  ];
}

/** What sign-in needs, whether or not clients can request grants. */
function peopleParts({ config, stores, url }: Foundation, callers: OpenCallers): PeopleParts {
  const { ledger: books, records } = stores;
  const clock = systemClock;
  const windows = createRequestWindows({ clock });
  const shared = sharedWindow(records, clock);
  return {
    sessions: createSessions(records, books, url.get),
    openId: null,
    base: url.get,
    home: config.pages ? "/account" : "/sign-in",
    authenticate: callers.doors.authenticate,
    callerOfKey: callers.callerOfKey,
    playKey: createPlayAccounts(config, stores),
    addressKey: addressWindowKey,
    // This process's own counter keeps floods away from the store.
    take: async (what, limit) => windows.take(what, limit).allowed && shared(what, limit),
  };
}

export async function openPeople(
  foundation: Foundation,
  callers: OpenCallers,
  actionCatalog: OpenActions,
): Promise<People | null> {
  const { options, config, stores, url, opened } = foundation;
  if (!config.oauth && !config.pages) return null;
  const people = peopleParts(foundation, callers);
  if (callers.signingKeys === null || !config.oauth) {
    const endpoints = peopleEndpoints(people);
    return { endpoints, sessions: people.sessions, doors: { signedIn: signedIn(people) }, openId: null };
  }
  const { ledger: books, records } = stores;
  const clock = systemClock;
  const publicFetch = createPublicFetch(options.internet);
  opened.add(() => publicFetch.close());
  const readDocument: ReadDocument = async (address, { msMax, bytesMax }) => {
    const answer = await publicFetch.open(address, { redirectsMax: 0, msMax, bytesMax });
    if (answer instanceof GatewayError) throw answer;
    return new Response(new Uint8Array(await wholeOf(answer.body)), { status: answer.status, headers: answer.headers });
  };
  const openId = config.oidcIssuer === null ? null : (await import("./openid.ts")).openOpenId(foundation);
  const own: OAuthParts = Object.assign({}, people, {
    records,
    grants: createGrants(books, clock, callers.forget),
    openId,
    clock,
    keys: callers.signingKeys,
    choices: () => choicesOf(actionCatalog),
    readDocument,
  });
  return {
    endpoints: oauthEndpoints(own),
    sessions: own.sessions,
    openId: openId?.provider ?? null,
    doors: {
      signedIn: signedIn(own),
      challenge: (path, error) =>
        error.options.of === "admin" ? 'Bearer realm="tollgate"' : challengeAt(url.get(), path, error),
    },
  };
}

/** The account pages, in front of the API. Empty: the settings disable them. */
export function openAccountPages(
  endpoints: readonly Endpoint[],
  { config, url }: Foundation,
  { people, callers, deps }: Work,
): readonly Endpoint[] {
  if (people === null || !config.pages) return [];
  const asking = askInside(endpoints, deps);
  const pages = accountPages({
    sessions: people.sessions,
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

function nameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null;
}

/**
 * The origins and host names that MCP accepts. A web page can make its user's browser call an address that only the user reaches, under a
 * domain that the page's owner points at this machine (DNS rebinding; MCP, transports: security warning). Programs send no Origin, and
 * programs on other machines use any name.
 */
function mcpDoor({ host, publicUrl, mcpOrigins }: Config) {
  const names = [...LOOPBACK, ...(publicUrl === null ? [] : [nameOf(publicUrl)])];
  const isInner = LOOPBACK.includes(host);
  return {
    allowsOrigin: (origin: string) =>
      mcpOrigins.includes("*") || mcpOrigins.includes(origin) || names.includes(nameOf(origin)),
    allowsHost: (name: string) => !isInner || names.includes(nameOf(`http://${name}`)),
  };
}

export async function openMcp(
  endpoints: readonly Endpoint[],
  { config, stores }: Foundation,
  deps: ServeDeps,
): Promise<readonly Endpoint[]> {
  const cancels = await createCancels(stores.others);
  return inEnvelope(
    mcpEndpoints({
      callInside: callInside(endpoints, deps),
      records: stores.records,
      clock: systemClock,
      door: mcpDoor(config),
      wantsSignIn: config.oauth,
      cancels,
    }),
  );
}

/** How operators sign in with the OpenID provider. Null: the settings name no such operator. */
function operatorDoor(
  { config, log, stores }: Foundation,
  provider: OpenIdProvider | null,
  by: Pick<SignInParts, "take" | "addressKey"> & { readonly base: () => string },
): OperatorDoor | null {
  const { oidcOperators: rules } = config;
  if (provider === null || rules === null) return null;
  const claims = rules.map(({ claim }) => claim).filter((claim) => claim !== "sub" && claim !== "email");
  const own = { callback: OPENID_CALLBACK, name: "console_oidc", claims: [...new Set(claims)] };
  return {
    provider,
    rules,
    way: createOpenIdWay({ provider, records: stores.records, ...by, ...own }),
    onStranger: ({ subject, email }) =>
      log.logger.warn({ subject, email }, "a person of the OpenID provider is no operator"),
  };
}

/** The operator's console, in front of the admin API. `base`: where browsers reach the admin listener. */
export function openOperatorPages(
  endpoints: readonly Endpoint[],
  foundation: Foundation,
  { deps, callers, people }: Work,
  base: () => string,
): readonly Endpoint[] {
  const { config, stores } = foundation;
  const asking = askInside(endpoints, deps);
  const by = { take: sharedWindow(stores.records, systemClock), addressKey: addressWindowKey };
  const operators = JSON.stringify([config.oidcIssuer, config.oidcOperators]);
  const pages = consolePages({
    ...by,
    sessions: createOperatorSessions(stores.records, callers.adminToken, operators, base),
    operators: operatorDoor(foundation, people?.openId ?? null, Object.assign({ base }, by)),
    isAdmin: deps.isAdmin,
    epochMs: systemClock.epochMs,
    figures: foundation.figures,
    draining: deps.draining,
    reference: () => `console ${randomBytes(6).toString("hex")}`,
    askAs(from, { name, isProven }) {
      const proof = isProven ? { [PROVEN_HEADER]: "1" } : {};
      return asking({ caller: null, from, headers: { [OPERATOR_HEADER]: name, ...proof } });
    },
  });
  return inEnvelope([...assetEndpoints(), ...pages]);
}

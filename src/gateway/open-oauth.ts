// People who sign in and clients that ask for grants, where the setting says that there are any.

import { EVERYBODY } from "../catalog/audience.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { wholeOf } from "../core/pieces.ts";
import { createGrants } from "../edge/oauth/grants.ts";
import { challengeAt } from "../edge/oauth/metadata.ts";
import { type OAuthParts, oauthEndpoints, type PeopleParts, peopleEndpoints, signedIn } from "../edge/oauth/oauth.ts";
import type { OpenIdProvider } from "../edge/oauth/openid-provider.ts";
import type { Choice } from "../edge/oauth/pages.ts";
import type { ReadDocument } from "../edge/oauth/server.ts";
import { createSessions, type Sessions } from "../edge/oauth/sessions.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import { assetEndpoints } from "../edge/web/kit/assets.ts";
import { personPages } from "../edge/web/person-pages.ts";
import type { Config } from "../platform/config.ts";
import { addressWindowKey } from "../platform/limits/address-window-key.ts";
import { createRequestWindows } from "../platform/limits/request-windows.ts";
import type { Log } from "../platform/observe/log.ts";
import { sharedWindow } from "../platform/records/shared-window.ts";
import { createPublicFetch, type PublicFetchOptions } from "../upstream/public-fetch.ts";
import type { OpenActions } from "./open-actions.ts";
import type { OpenCallers } from "./open-callers.ts";
import { openOpenId } from "./open-openid.ts";
import { createPlayAccounts } from "./open-playground.ts";
import { inEnvelope } from "./public-endpoints.ts";
import type { Stores } from "./stores.ts";

/** As many entries as a key's list may have. */
const SERVICES_MAX = 200;

export interface OpenOAuthParts {
  readonly config: Config;
  readonly log: Log;
  readonly stores: Stores;
  readonly callers: OpenCallers;
  readonly actionCatalog: OpenActions;
  readonly publicUrl: () => string;
  /** How the internet is reached in tests. */
  readonly internet?: PublicFetchOptions | undefined;
}

export interface OpenOAuth {
  readonly endpoints: readonly Endpoint[];
  readonly sessions: Sessions;
  readonly doors: Pick<ServeDeps, "signedIn" | "challenge">;
  /** The OpenID provider; null: people sign in with keys alone. */
  readonly openId: OpenIdProvider | null;
  close(): void;
}

/** What a person can choose between. Their lists are made from what is sold when the question is asked. */
function choicesOf({ actionCatalog }: OpenActions): readonly Choice[] {
  const actions = actionCatalog.all(EVERYBODY);
  const search = actions.filter(({ facts }) => facts.category === "search").map(({ id }) => id);
  // The first is what the form has chosen until its person chooses: what most agents are for, and nothing that writes or buys.
  return [
    { id: "search", words: "models and search only", services: search.slice(0, SERVICES_MAX), models: null },
    { id: "models", words: "models only", services: [], models: null },
    { id: "actions", words: "actions only, no models", services: null, models: [] },
    { id: "all", words: "models and all actions", services: null, models: null },
  ];
}

/** What people need to sign in, whether or not clients may ask them for grants. */
function openPeople({ config, stores, callers, publicUrl }: OpenOAuthParts): PeopleParts {
  const { ledger: books, records } = stores;
  const clock = systemClock;
  const windows = createRequestWindows({ clock });
  const shared = sharedWindow(records, clock);
  const home = config.pages ? "/account" : "/sign-in";
  return {
    sessions: createSessions({ records, books, base: publicUrl }),
    pages: personPages(home),
    openId: null,
    base: publicUrl,
    home,
    authenticate: callers.doors.authenticate,
    callerOfKey: callers.callerOfKey,
    playKey: createPlayAccounts(config, stores),
    addressKey: addressWindowKey,
    // This process's own count keeps floods away from the store.
    take: async (what, limit) => windows.take(what, limit).allowed && shared(what, limit),
  };
}

/** Null: the settings say that no person signs in. */
export function openOAuth(parts: OpenOAuthParts): OpenOAuth | null {
  const { config, stores, callers, actionCatalog, publicUrl, internet = {} } = parts;
  if (!config.oauth && !config.pages) return null;
  const people = openPeople(parts);
  // What the sign-in and the pages of an account load, where there is either.
  const assets = inEnvelope(assetEndpoints());
  if (callers.signingKeys === null || !config.oauth) {
    const doors = { signedIn: signedIn(people) };
    const endpoints = [...peopleEndpoints(people), ...assets];
    return { endpoints, sessions: people.sessions, doors, openId: null, close: () => {} };
  }
  const { ledger: books, records } = stores;
  const clock = systemClock;
  const publicFetch = createPublicFetch(internet);
  const readDocument: ReadDocument = async (url, bounds) => {
    const answer = await publicFetch.open(url, { redirectsMax: 0, msMax: bounds.msMax, bytesMax: bounds.bytesMax });
    if (answer instanceof GatewayError) throw answer;
    return new Response(new Uint8Array(await wholeOf(answer.body)), { status: answer.status, headers: answer.headers });
  };
  const openId = openOpenId(config, parts);
  const own: OAuthParts = Object.assign({}, people, {
    records,
    grants: createGrants({ books, clock, forget: callers.forget }),
    openId: openId?.door ?? null,
    clock,
    keys: callers.signingKeys,
    choices: () => choicesOf(actionCatalog),
    readDocument,
  });
  return {
    endpoints: [...oauthEndpoints(own), ...assets],
    sessions: own.sessions,
    openId: openId?.door.provider ?? null,
    doors: {
      signedIn: signedIn(own),
      challenge: (path, error) =>
        error.options.of === "admin" ? 'Bearer realm="tollgate"' : challengeAt(publicUrl(), path, error),
    },
    close() {
      publicFetch.close();
      openId?.close();
    },
  };
}

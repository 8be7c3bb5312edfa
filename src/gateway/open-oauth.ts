// People who sign in and clients that ask for grants, where the setting says that there are any.
import { EVERYBODY } from "../catalog/audience.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Endpoint } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { addressWindowKey } from "../limits/address-window-key.ts";
import { createRequestWindows } from "../limits/request-windows.ts";
import { createGrants } from "../oauth/grants.ts";
import { challengeAt } from "../oauth/metadata.ts";
import { type OAuthParts, oauthEndpoints, signedIn } from "../oauth/oauth.ts";
import type { Choice } from "../oauth/pages.ts";
import type { ReadDocument } from "../oauth/server.ts";
import { createSessions } from "../oauth/sessions.ts";
import type { Log } from "../observe/log.ts";
import { sharedWindow } from "../records/shared-window.ts";
import type { ServeDeps } from "../serve/deps.ts";
import type { Stores } from "../stores.ts";
import { createPublicFetch, type PublicFetchOptions } from "../upstream/public-fetch.ts";
import { personPages } from "../web/person-pages.ts";
import type { OpenActions } from "./open-actions.ts";
import type { OpenCallers } from "./open-callers.ts";
import { openOpenId } from "./open-openid.ts";

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
  readonly doors: Pick<ServeDeps, "signedIn" | "challenge">;
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

/** Null: the setting says no. */
export function openOAuth(parts: OpenOAuthParts): OpenOAuth | null {
  const { config, stores, callers, actionCatalog, publicUrl, internet = {} } = parts;
  if (callers.signingKeys === null || !config.oauth) return null;
  const { ledger: books, records } = stores;
  const clock = systemClock;
  const windows = createRequestWindows({ clock });
  const shared = sharedWindow(records, clock);
  const publicFetch = createPublicFetch(internet);
  const readDocument: ReadDocument = async (url, bounds) => {
    const answer = await publicFetch.open(url, { redirectsMax: 0, msMax: bounds.msMax, bytesMax: bounds.bytesMax });
    if (answer instanceof GatewayError) throw answer;
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body) chunks.push(chunk);
    return new Response(Buffer.concat(chunks), { status: answer.status, headers: answer.headers });
  };
  const openId = openOpenId(config, parts);
  const sessions = createSessions({ records, books, base: publicUrl });
  const own: OAuthParts = {
    records,
    grants: createGrants({ books, clock, forget: callers.forget }),
    sessions,
    pages: personPages(),
    openId: openId?.door ?? null,
    clock,
    keys: callers.signingKeys,
    base: publicUrl,
    choices: () => choicesOf(actionCatalog),
    readDocument,
    authenticate: callers.doors.authenticate,
    callerOfKey: callers.callerOfKey,
    addressKey: addressWindowKey,
    // This process's own count keeps floods away from the store.
    take: async (what, limit) => windows.take(what, limit).allowed && shared(what, limit),
  };
  return {
    endpoints: oauthEndpoints(own),
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

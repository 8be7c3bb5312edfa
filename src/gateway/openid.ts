// The operator's OpenID provider: how to reach it, and how to open an account for a person who signs in with it.

import { wholeOf } from "../core/chunk-list.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { createIdentities } from "../edge/oauth/identities.ts";
import { type AskProvider, createOpenIdProvider, ProviderAway } from "../edge/oauth/openid-provider.ts";
import type { OpenIdDoor } from "../edge/people/openid-endpoints.ts";
import { mintOpening } from "../money/accounts/open-account.ts";
import { signUp } from "../money/accounts/signup.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import type { Foundation } from "./open-foundation.ts";
import { signupParts } from "./public-endpoints.ts";

const BYTES_MAX = 1_048_576;
const MS_MAX = 5_000;
const NAME_CHARS_MAX = 200;
/** Statuses without a body (Fetch, 4.1). */
const EMPTY = [204, 205, 304];

/** Null: the settings name no provider. */
export function openOpenId({ config, stores, log, opened }: Foundation): OpenIdDoor | null {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = config;
  if (issuer === null || clientId === null) return null;
  // The operator chose it, so its address may be private.
  const fetched = createPublicFetch({ mayBeInner: true, proxies: config.proxies });
  opened.add(() => fetched.close());
  const ask: AskProvider = async (url, send) => {
    const limits = { bytesMax: BYTES_MAX, msMax: MS_MAX, redirectsMax: 0, answersRedirects: true } as const;
    const answer = await fetched.open(url, { ...limits, send });
    if (answer instanceof GatewayError) throw new ProviderAway(answer.message);
    const whole = await wholeOf(answer.body).catch((error: unknown) => {
      throw error instanceof GatewayError ? new ProviderAway(error.message) : error;
    });
    const { status, headers } = answer;
    if (status >= 500) throw new ProviderAway(`it answers ${status}`);
    return new Response(EMPTY.includes(status) ? null : new Uint8Array(whole), { status, headers });
  };
  const opening = signupParts(config, stores);
  const onRefused = (err: unknown) => log.logger.warn({ err }, "a sign-in by the OpenID provider came to nothing");
  return {
    provider: createOpenIdProvider({ issuer, clientId, clientSecret }, ask, systemClock, onRefused),
    identities: createIdentities(stores.records, mintOpening),
    openAccount:
      config.oidcAccounts === "link"
        ? null
        : async ({ email, subject }, address, ids) => {
            const name = (email ?? subject).slice(0, NAME_CHARS_MAX);
            await signUp(opening, address, { name, kind: "personal" }, ids);
            return ids;
          },
  };
}

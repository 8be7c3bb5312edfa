// Who calls and how often they may: keys and the admin token, and the windows that requests are counted in.
import { adminCheck, ensureAdminToken } from "../accounts/admin-token.ts";
import { type Authenticator, createAuthenticator } from "../accounts/authenticate.ts";
import { keyOfFormer } from "../accounts/former-secrets.ts";
import { ownKeysOf } from "../accounts/provider-keys.ts";
import { rulesOf } from "../accounts/rules.ts";
import { underRules } from "../accounts/under-rules.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { signingSecrets } from "../files/signed-links.ts";
import { addressWindowKey } from "../limits/address-window-key.ts";
import { createAnswerBytes } from "../limits/answer-bytes.ts";
import { type BodyBytes, createBodyBytes } from "../limits/body-bytes.ts";
import { createRequestWindows } from "../limits/request-windows.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import { type SigningKeys, signingKeys } from "../oauth/signing-keys.ts";
import type { Records } from "../records/records.ts";
import { AnswerCache } from "../serve/answer-cache.ts";
import type { ServeDeps } from "../serve/deps.ts";
import { inDataDir } from "../storage/in-data-dir.ts";
import { createGuard, type Guard } from "../upstream/guard.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import type { Foundation } from "./open-foundation.ts";

type Doors =
  | "authenticate"
  | "isAdmin"
  | "takeWindow"
  | "peekWindow"
  | "addressRequestsPerMinute"
  | "countsPaidCalls"
  | "answers"
  | "cache"
  | "guard";

export interface OpenCallers {
  readonly adminToken: string;
  /** What the serving of requests asks of it. */
  readonly doors: Pick<ServeDeps, Doors> & { readonly bodies: BodyBytes };
  /** What is remembered of an account no longer holds; null: of any account. */
  forget(accountId: string | null): void;
  callerOfKey: Authenticator["callerOfKey"];
  ofWorkGoingOn: Authenticator["ofWorkGoingOn"];
  /** By which access tokens are signed and read; null: there are none. */
  readonly signingKeys: (() => SigningKeys) | null;
  close(): void;
}

/** The operator's guard, where there is one. It is a server of the operator's, so it may be an inner one. */
function guardOf(
  { guardUrl: url, guardMsMax: msMax, guardOpen: open }: Pick<Config, "guardUrl" | "guardMsMax" | "guardOpen">,
  broken: Foundation["broken"],
): { readonly guard?: Guard; close(): void } {
  if (url === null) return { close() {} };
  const internet = createPublicFetch({ userAgent: "Tollgate-Guard", mayBeInner: true });
  const onAway = (error: unknown) => broken(error, "the guard did not answer");
  return { guard: createGuard({ url, msMax, open, internet, onAway }), close: () => internet.close() };
}

/** Where nothing may be kept there is no cache, and no call is looked for. */
function cacheOf(bytesMax: number, records: Records): Pick<ServeDeps, "cache"> {
  return bytesMax === 0 ? {} : { cache: new AnswerCache({ records, bytesMax, epochMs: () => systemClock.epochMs() }) };
}

/** Hears from here on of the changes that other processes make. */
export async function openCallers(
  { config, stores, broken }: Pick<Foundation, "config" | "stores" | "broken">,
  base: () => string,
): Promise<OpenCallers> {
  const clock = systemClock;
  const windows = createRequestWindows({ clock });
  const missed = (address: string): string => `miss ${addressWindowKey(address)}`;
  const keys = config.oauth ? signingKeys(signingSecrets(config.signingSecret, config.dataDir), clock) : null;
  const tokens = keys === null ? null : createAccessTokens({ keys, base, clock });
  const opening = {
    secrets: () => signingSecrets(config.signingSecret, config.dataDir),
    feePercent: config.ownKeyFeePercent,
    onUnopened: (provider: string) =>
      broken(new Error(`SIGNING_SECRET: no secret opens the key of ${provider}`), "an account's own key is not used"),
  };
  const authenticator = createAuthenticator({
    books: stores.ledger,
    clock,
    sandbox: config.sandbox,
    misses: {
      take: (address) => windows.take(missed(address), config.addressRequestsPerMinute),
      giveBack: (address) => windows.giveBack(missed(address)),
    },
    hears: () => stores.hearsChanges(),
    rules: async (key, account) => {
      const { accountId } = account;
      const rules = await rulesOf(stores.records, accountId);
      const under = await underRules(key, account, rules, (id, asked) => stores.ledger.periodSums(id, asked));
      return { ...under, ...ownKeysOf(accountId, rules, opening) };
    },
    formerKey: (secretHash) => keyOfFormer({ books: stores.ledger, rules: stores.records, clock }, secretHash),
    readToken: (token) => tokens?.read(token) ?? null,
  });
  const { guard, close } = guardOf(config, broken);
  const forget = (accountId: string | null) => authenticator.forget(accountId);
  await stores.onKeysChanged(forget);
  const adminToken = config.adminToken ?? (await inDataDir(config.dataDir, () => ensureAdminToken(config.dataDir)));
  return {
    adminToken,
    doors: {
      authenticate: (authorization, sender) => authenticator.authenticate(authorization, sender),
      bodies: createBodyBytes({ bytesMax: config.bodiesBytesMax, accountBytesMax: config.accountBodiesBytesMax }),
      answers: createAnswerBytes({ bytesMax: config.answersBytesMax, ownerBytesMax: config.accountAnswersBytesMax }),
      ...cacheOf(config.answerCacheBytesMax, stores.records),
      ...(guard === undefined ? {} : { guard }),
      isAdmin: adminCheck(adminToken),
      takeWindow: (kind, key, limit) => windows.take(`${kind} ${key}`, limit),
      peekWindow: (kind, key, limit) => windows.peek(`${kind} ${key}`, limit),
      addressRequestsPerMinute: config.addressRequestsPerMinute,
      countsPaidCalls: stores.shared,
    },
    forget,
    callerOfKey: (accountId, keyId) => authenticator.callerOfKey(accountId, keyId),
    ofWorkGoingOn: (accountId, keyId) => authenticator.ofWorkGoingOn(accountId, keyId),
    signingKeys: keys,
    close,
  };
}

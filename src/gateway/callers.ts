// Authentication and rate limits: keys, the admin token, and the windows that count requests.

import { signingSecrets } from "../actions/files/signed-links.ts";
import type { ActionCatalog } from "../actions/run/action-catalog.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { nearest } from "../catalog/nearest.ts";
import { systemClock } from "../core/clock.ts";
import { accessTokenReader } from "../edge/oauth/access-tokens.ts";
import { signingKeys } from "../edge/oauth/signing-keys.ts";
import { AnswerCache } from "../edge/serve/cached-answers.ts";
import { adminCheck, ensureAdminToken } from "../money/accounts/admin-token.ts";
import type { Unsold } from "../money/accounts/allowed.ts";
import { Authenticator } from "../money/accounts/authenticate.ts";
import { keyOfFormer } from "../money/accounts/former-secrets.ts";
import { ownKeysOf } from "../money/accounts/provider-keys.ts";
import { rulesOf } from "../money/accounts/rules.ts";
import { underRules } from "../money/accounts/under-rules.ts";
import { Runs } from "../money/runs/runs.ts";
import { AnswerBytes } from "../platform/limits/answer-bytes.ts";
import { createBodyBytes } from "../platform/limits/body-bytes.ts";
import { addressWindowKey, createRequestWindows } from "../platform/limits/request-windows.ts";
import { inDataDir } from "../platform/storage/in-data-dir.ts";
import type { Foundation } from "./open-foundation.ts";

export type OpenCallers = Awaited<ReturnType<typeof openCallers>>;

/** How accounts' own keys for providers are opened. */
function openingOf({ config, broken }: Foundation) {
  return {
    secrets: () => signingSecrets(config.signingSecret, config.dataDir),
    feePercent: config.ownKeyFeePercent,
    onUnopened: (provider: string) =>
      broken(new Error(`SIGNING_SECRET: no secret opens the key of ${provider}`), "an account's own key is not used"),
  };
}

/** Subscribes this process to other processes' changes to keys. */
export async function openCallers(foundation: Foundation) {
  const { config, url, stores, broken, opened } = foundation;
  const clock = systemClock;
  const { answerCacheBytesMax: bytesMax } = config;
  const windows = createRequestWindows({ clock });
  const missed = (address: string): string => `miss ${addressWindowKey(address)}`;
  const keys = config.oauth ? signingKeys(signingSecrets(config.signingSecret, config.dataDir), clock) : null;
  const readToken = keys === null ? () => null : accessTokenReader(keys, url.get, clock);
  const opening = openingOf(foundation);
  const authenticator = new Authenticator({
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
    readToken,
  });
  const callerOfKey = authenticator.callerOfKey.bind(authenticator);
  const runs = new Runs({
    records: stores.records,
    books: stores.ledger,
    clock,
    hears: () => stores.hearsChanges(),
    onBroken: (error) => broken(error, "runs"),
    forget: (accountId) => forget(accountId),
  });
  const forget = (accountId: string | null): void => {
    authenticator.forget(accountId);
    runs.forget(accountId);
  };
  await stores.onKeysChanged(forget);
  runs.start();
  opened.add(() => runs.close());
  const adminToken = config.adminToken ?? (await inDataDir(config.dataDir, () => ensureAdminToken(config.dataDir)));
  return {
    adminToken,
    runs,
    doors: {
      authenticate: authenticator.authenticate.bind(authenticator),
      callerOfKey,
      runs,
      bodies: createBodyBytes({ bytesMax: config.bodiesBytesMax, accountBytesMax: config.accountBodiesBytesMax }),
      answers: new AnswerBytes({ bytesMax: config.answersBytesMax, ownerBytesMax: config.accountAnswersBytesMax }),
      ...(bytesMax === 0
        ? null
        : { cache: new AnswerCache({ records: stores.records, bytesMax, epochMs: clock.epochMs }) }),
      isAdmin: adminCheck(adminToken),
      takeWindow: (kind: "account" | "address", key: string, limit: number) => windows.take(`${kind} ${key}`, limit),
      peekWindow: (kind: "account" | "address", key: string, limit: number) => windows.peek(`${kind} ${key}`, limit),
      addressRequestsPerMinute: config.addressRequestsPerMinute,
      countsPaidCalls: stores.shared,
    },
    /** Drops the cache of an account; null: of all accounts. */
    forget,
    callerOfKey,
    ofWorkGoingOn: authenticator.ofWorkGoingOn.bind(authenticator),
    signingKeys: keys,
  };
}

const TIER_PREFIX = "core/";

/** Finds the names on a key's lists that are not for sale here: a misspelled one would lock the key out of what was meant. */
export function unsoldIn(catalog: () => Catalog, actionCatalog: ActionCatalog): Unsold {
  return ({ services, models }, { sandbox }) => {
    const audience = { sandbox };
    const actions = actionCatalog.all(audience);
    const sold = catalog();
    const unitSlugs = sold.unitModels(audience).map(({ slug }) => slug);
    const tiers = [...sold.tiers.keys(), ...sold.realtimeTiers.keys()];
    const isModel = (name: string) =>
      (name.startsWith(TIER_PREFIX) && tiers.includes(name.slice(TIER_PREFIX.length))) ||
      sold.model(name, audience) !== null ||
      sold.embedding(name, audience) !== null ||
      unitSlugs.includes(name);
    const isService = (name: string) => actions.some(({ id, service }) => id === name || service === name);
    const model = models.find((name) => !isModel(name));
    if (model !== undefined) {
      const slugs = [...sold.listed(audience).map(({ slug }) => slug), ...unitSlugs];
      const names = tiers.map((id) => TIER_PREFIX + id);
      return { list: "models", message: told(model, [...names, ...slugs]) };
    }
    const service = services.find((name) => !isService(name));
    if (service === undefined) return null;
    return {
      list: "services",
      message: told(service, [...new Set(actions.flatMap((action) => [action.service, action.id]))]),
    };
  };
}

function told(name: string, names: readonly string[]): string {
  const found = nearest(name, names);
  return `${name} is not sold here.${found.length === 0 ? "" : ` Nearest: ${found.join(", ")}.`}`;
}

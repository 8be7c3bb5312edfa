// Creating, changing and revoking keys: the same rules for the account's primary key and for the operator.
import { z } from "zod";
import { KEYS_PER_ACCOUNT_MAX, type KeyPatch, type KeyRow } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import type { Answer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { nanoFromCents } from "../../core/money.ts";
import { addressesSchema } from "./addresses.ts";
import { modelsSchema, servicesSchema } from "./allowed.ts";
import { keepFormer } from "./former-secrets.ts";
import { noSuchGroup } from "./groups.ts";
import { type KeyParts, missing } from "./own-endpoint.ts";
import { GRANT_HINT, keyRow } from "./rows.ts";
import {
  badField,
  centsField,
  checkSold,
  lowersField,
  overlapField,
  PERIOD,
  periodField,
  rateFields,
  ratesAfter,
  timeField,
} from "./rule-fields.ts";
import { type AccountRules, changeRules, keyRule, rulesOf, withKeyRule, withoutKey } from "./rules.ts";
import { ruleOfRunsAfter, ruleOfRunsFields } from "./run-rules.ts";
import { mintId, mintKey } from "./secrets.ts";

const label = z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters");
const ruled = {
  group: z.string("must be the id of a group, or null").min(1, "must be the id of a group, or null").max(100).nullish(),
  lower_at: lowersField,
  addresses: addressesSchema.nullish(),
  cache_seconds: z
    .number("must be a number of seconds or null")
    .int("must be a whole number of seconds")
    .min(1, "must be at least 1, or null")
    .max(86_400, "must be at most 86400")
    .nullish(),
  ...rateFields,
  ...ruleOfRunsFields,
};
const limits = {
  ...ruled,
  services: servicesSchema.nullish(),
  models: modelsSchema.nullish(),
  expires_at: timeField.nullish(),
};

export const newKeySchema = z
  .strictObject({
    label: label.default("agent"),
    external_id: z.string().min(1).max(200).nullish(),
    ceiling_cents: centsField.nullish(),
    ceiling_period: periodField.nullish(),
    ...limits,
  })
  .refine((body) => body.ceiling_cents != null || body.ceiling_period == null, {
    path: ["ceiling_period"],
    message: "needs a ceiling_cents beside it",
  });

export const keyChangeSchema = z
  .strictObject({
    label: label.optional(),
    paused: z.boolean("must be true or false").optional(),
    ceiling: centsField.nullish(),
    ceiling_cents: centsField.nullish(),
    period: periodField.optional(),
    ceiling_period: periodField.optional(),
    ...limits,
  })
  .refine((body) => body.ceiling === undefined || body.ceiling_cents === undefined, {
    path: ["ceiling"],
    message: "is another name of ceiling_cents; send one of them",
  })
  .refine((body) => body.period === undefined || body.ceiling_period === undefined, {
    path: ["period"],
    message: "is another name of ceiling_period; send one of them",
  });

export const rotationSchema = z.strictObject({ overlap_seconds: overlapField.default(0) });

export function noSuchKey(keyId: string): GatewayError {
  return missing("key", `There is no key ${keyId.slice(0, 80)} here.`);
}

function checkExpiry(expiresAtMs: number | null | undefined, clock: Clock): void {
  if (expiresAtMs != null && expiresAtMs <= clock.epochMs()) throw badField("expires_at", "must be in the future");
}

type RuledBody = Pick<z.output<typeof keyChangeSchema>, keyof typeof ruled>;

/** Changes the rules of a key that are not in its row, where the body names any. */
async function rule(
  { rules }: Pick<KeyParts, "rules">,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string },
  body: RuledBody,
  run?: string,
): Promise<AccountRules> {
  const names = Object.keys(ruled) as (keyof RuledBody)[];
  if (run === undefined && names.every((name) => body[name] === undefined)) return rulesOf(rules, accountId);
  return changeRules(rules, accountId, (before) => {
    const { group, lower_at: lowersAt, addresses, cache_seconds: cacheSeconds } = body;
    if (group != null && !before.groups.some(({ id }) => id === group)) throw noSuchGroup(group);
    return withKeyRule(before, keyId, {
      ...ratesAfter(keyRule(before, keyId), body),
      ...(group === undefined ? {} : { group }),
      ...(lowersAt === undefined ? {} : { lowersAt }),
      ...(addresses === undefined ? {} : { addresses }),
      ...(cacheSeconds === undefined ? {} : { cacheSeconds }),
      ...ruleOfRunsAfter(body),
      ...(run === undefined ? {} : { run }),
    });
  });
}

/** Creates an agent key, for the calls of a run where one is named. Its secret is only in the answer. */
export async function createKey(
  { books, clock, unsold, rules: records }: KeyParts,
  account: { readonly accountId: string; readonly sandbox: boolean },
  body: z.output<typeof newKeySchema>,
  run?: string,
): Promise<Answer> {
  checkExpiry(body.expires_at, clock);
  checkSold(body, {}, { unsold, sandbox: account.sandbox });
  const { secret, secretHash, hint } = mintKey(account.sandbox);
  const keyId = mintId("key_");
  const ceiling = body.ceiling_cents ?? null;
  if (ceiling === null && body.lower_at != null) throw badField("lower_at", "needs a ceiling_cents beside it");
  // Before the key exists, so that it can never call outside its group.
  const rules = await rule({ rules: records }, { accountId: account.accountId, keyId }, body, run);
  const outcome = await books.createKey(account.accountId, {
    keyId,
    secretHash,
    hint,
    label: body.label,
    externalId: body.external_id ?? null,
    ceilingNano: ceiling === null ? null : nanoFromCents(ceiling),
    ceilingPeriod: ceiling === null ? null : (body.ceiling_period ?? PERIOD),
    services: body.services ?? null,
    models: body.models ?? null,
    expiresAtMs: body.expires_at ?? null,
  });
  if (outcome !== "created") await changeRules(records, account.accountId, (before) => withoutKey(before, keyId));
  if (outcome === "external_id_taken") {
    const detail = `external_id: another key of this account has the id ${JSON.stringify(body.external_id)}.`;
    throw new GatewayError("conflict", { detail, param: "external_id" });
  }
  if (outcome === "too_many_keys") throw new GatewayError(outcome, { detail: { limit: KEYS_PER_ACCOUNT_MAX } });
  const key = outcome === "created" ? await books.key(account.accountId, keyId) : null;
  if (key === null) throw missing("account", "There is no such account.");
  return { status: 201, body: { ...keyRow(key, rules), api_key: secret } };
}

/** The changes that a body makes to a key. Omits fields that the body does not name, because a concurrent request may change them. */
function changeOf(key: KeyRow, body: z.output<typeof keyChangeSchema>): KeyPatch {
  const cents = body.ceiling_cents === undefined ? body.ceiling : body.ceiling_cents;
  const newPeriod = body.ceiling_period ?? body.period;
  const ceilingNano = cents === undefined ? key.ceilingNano : cents === null ? null : nanoFromCents(cents);
  if (newPeriod !== undefined && ceilingNano === null) throw badField("ceiling_period", "needs a ceiling_cents");
  const ceilingPeriod = newPeriod ?? (key.ceilingPeriod === null && ceilingNano !== null ? PERIOD : undefined);
  return {
    ...(body.label === undefined ? {} : { label: body.label }),
    ...(body.paused === undefined ? {} : { paused: body.paused }),
    ...(body.services === undefined ? {} : { services: body.services }),
    ...(body.models === undefined ? {} : { models: body.models }),
    ...(body.expires_at === undefined ? {} : { expiresAtMs: body.expires_at }),
    ...(cents === undefined ? {} : { ceilingNano }),
    ...(ceilingPeriod === undefined ? {} : { ceilingPeriod }),
  };
}

/** Changes that would lock an account out. */
const NOT_OF_PRIMARY = [
  ...(["paused", "services", "models", "expires_at", "group"] as const),
  ...(["requests_per_minute", "tokens_per_minute", "addresses"] as const),
] as const;

/** Changes label, ceiling, pause, lists or expiry of a key. */
export async function changeKey(
  parts: KeyParts,
  key: { readonly accountId: string; readonly keyId: string; readonly sandbox: boolean },
  body: z.output<typeof keyChangeSchema>,
): Promise<Answer> {
  const { books, clock, unsold } = parts;
  const before = await books.key(key.accountId, key.keyId);
  if (before === null) throw noSuchKey(key.keyId);
  const param = before.primary ? NOT_OF_PRIMARY.find((field) => body[field]) : undefined;
  if (param !== undefined) {
    const detail = `${param}: the primary key cannot be paused or limited, and does not expire; rotate it, or use an agent key.`;
    throw new GatewayError("conflict", { detail, param });
  }
  checkExpiry(body.expires_at, clock);
  checkSold(body, before, { unsold, sandbox: key.sandbox });
  const change = changeOf(before, body);
  const ceiling = change.ceilingNano === undefined ? before.ceilingNano : change.ceilingNano;
  if (body.lower_at != null && ceiling === null) throw badField("lower_at", "needs a ceiling_cents");
  const rules = await rule(parts, key, body);
  const after = await books.patchKey(key.accountId, key.keyId, change);
  if (after === null) throw noSuchKey(key.keyId);
  return { status: 200, body: keyRow(after, rules) };
}

type OfAccount = Pick<KeyRow, "accountId" | "keyId">;

/** Sets the only former secret that stays valid, and until when; null: none. */
async function ruleFormer(
  { rules }: Pick<KeyParts, "rules">,
  key: OfAccount,
  former: { readonly hash: string; readonly untilMs: number; readonly overlapMs: number } | null,
): Promise<AccountRules> {
  if (former !== null) await keepFormer(rules, key, former);
  const kept = former === null ? null : { hash: former.hash, untilMs: former.untilMs };
  return changeRules(rules, key.accountId, (before) =>
    kept === null && keyRule(before, key.keyId).former === null
      ? before
      : withKeyRule(before, key.keyId, { former: kept }),
  );
}

/** Replaces a key's secret: same id, ceiling and history. The old secret stops at once or after the overlap; an older one at once. */
export async function rotateKey(
  parts: KeyParts,
  key: { readonly accountId: string; readonly keyId: string; readonly sandbox: boolean },
  { overlap_seconds: overlapSeconds }: z.output<typeof rotationSchema>,
): Promise<Answer> {
  const { books, clock } = parts;
  const before = await books.key(key.accountId, key.keyId);
  const present = await books.secretHash(key.accountId, key.keyId);
  if (before === null || present === null) throw noSuchKey(key.keyId);
  if (before.hint === GRANT_HINT) {
    const detail = "A grant has no secret to rotate; revoke it, and let its client ask again.";
    throw new GatewayError("conflict", { detail });
  }
  const overlapMs = overlapSeconds * 1_000;
  const untilMs = Math.floor(clock.epochMs()) + overlapMs;
  const formerOf = (hash: string) => (overlapMs === 0 ? null : { hash, untilMs, overlapMs });
  // Before the swap: other processes learn of the swap at once, and must then find that the old secret is still valid.
  const ruled = await ruleFormer(parts, key, formerOf(present));
  const { secret, secretHash, hint } = mintKey(key.sandbox);
  const after = await books.rotateKey(key.accountId, key.keyId, secretHash, hint);
  if (after === null) {
    await changeRules(parts.rules, key.accountId, (known) => withoutKey(known, key.keyId));
    throw noSuchKey(key.keyId);
  }
  // If another rotation came in between, this one replaced that rotation's secret.
  const rules = after.formerHash === present ? ruled : await ruleFormer(parts, key, formerOf(after.formerHash));
  return { status: 200, body: { ...keyRow(after, rules), api_key: secret } };
}

export async function revokeKey(
  { books, rules }: KeyParts,
  key: { readonly accountId: string; readonly keyId: string },
): Promise<Answer> {
  const before = await books.key(key.accountId, key.keyId);
  if (before?.primary) {
    const detail = "The primary key cannot be revoked; rotate it, or freeze the account.";
    throw new GatewayError("conflict", { detail });
  }
  // Even for an unknown key: the ledger may still have to prevent its creation.
  const revoked = await books.deleteKey(key.accountId, key.keyId);
  await changeRules(rules, key.accountId, (known) => withoutKey(known, key.keyId));
  if (!revoked) throw noSuchKey(key.keyId);
  return { status: 200, body: { id: key.keyId, revoked: true } };
}

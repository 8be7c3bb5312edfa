// An account's own provider keys: stored encrypted, shown by their last characters, used only for that account's calls, at a listed fee.
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Answer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { OwnKey } from "../../core/plan.ts";
import { openText, sealText } from "../../platform/storage/sealed-text.ts";
import { missing } from "./own-endpoint.ts";
import { isoTime } from "./rows.ts";
import { type AccountRules, changeRules, type KeptProviderKey, type RuleRecords, rulesOf } from "./rules.ts";

/** Longer than any key that is sent in a request unchanged. */
const KEY_CHARACTERS_MAX = 512;
const PROVIDERS_MAX = 50;
/** Shorter keys have no hint: it would reveal a large part of them. */
const HINTED_MIN = 20;

export const providerKeySchema = z.strictObject({
  key: z
    .string("must be the key as the provider gave it")
    .trim()
    .min(1, "must not be empty")
    .max(KEY_CHARACTERS_MAX, `must have at most ${KEY_CHARACTERS_MAX} characters`)
    .regex(
      /^[\x21-\x7e]+(\n[\x21-\x7e]+)*$/,
      "must be printable characters without spaces; its parts, if it has some, on lines of their own",
    ),
  fallback: z.boolean("must be true or false").default(true),
});

export interface ProviderKeyParts {
  readonly rules: RuleRecords;
  readonly clock: Clock;
  /** Called only when needed, because it may create the secret. */
  secrets(): readonly [newest: string, ...older: string[]];
  /** In percent of the listed price. */
  readonly feePercent: number;
  /** Whether models of a provider are for sale here to accounts of this kind, and its key is sent unchanged. */
  serves(provider: string, audience: { readonly sandbox: boolean }): boolean;
}

const purposeOf = (accountId: string) => `tollgate provider key\n${accountId}`;

function row(provider: string, { hint, fallback, createdAtMs }: KeptProviderKey) {
  return { provider, hint, fallback, created_at: isoTime(createdAtMs) };
}

function notServed(provider: string): GatewayError {
  const detail = {
    detail: `provider: no model of ${JSON.stringify(provider.slice(0, 80))} is sold here, or none that takes a key of a caller's.`,
  };
  return new GatewayError("bad_request", { detail, param: "provider" });
}

export async function listProviderKeys({ rules, feePercent }: ProviderKeyParts, accountId: string): Promise<Answer> {
  const { providerKeys } = await rulesOf(rules, accountId);
  const keys = Object.entries(providerKeys).map(([provider, kept]) => row(provider, kept));
  return { status: 200, body: { provider_keys: keys, fee_percent: feePercent } };
}

export async function putProviderKey(
  { rules, clock, secrets, serves }: ProviderKeyParts,
  {
    accountId,
    sandbox,
    provider,
  }: { readonly accountId: string; readonly sandbox: boolean; readonly provider: string },
  { key, fallback }: z.output<typeof providerKeySchema>,
): Promise<Answer> {
  if (!serves(provider, { sandbox })) throw notServed(provider);
  const kept: KeptProviderKey = {
    sealed: sealText(secrets()[0], purposeOf(accountId), key),
    hint: key.length < HINTED_MIN ? "..." : `...${key.slice(-4)}`,
    fallback,
    createdAtMs: Math.floor(clock.epochMs()),
  };
  await changeRules(rules, accountId, (before) => {
    const providerKeys = { ...before.providerKeys, [provider]: kept };
    if (Object.keys(providerKeys).length <= PROVIDERS_MAX) return { ...before, providerKeys };
    throw new GatewayError("conflict", { detail: `There are keys of ${PROVIDERS_MAX} providers: delete one.` });
  });
  return { status: 200, body: row(provider, kept) };
}

export async function deleteProviderKey(
  { rules }: ProviderKeyParts,
  accountId: string,
  provider: string,
): Promise<Answer> {
  await changeRules(rules, accountId, (before) => {
    if (!Object.hasOwn(before.providerKeys, provider))
      throw missing("provider_key", "There is no key of this provider.");
    const { [provider]: _, ...providerKeys } = before.providerKeys;
    return { ...before, providerKeys };
  });
  return { status: 200, body: { provider, deleted: true } };
}

/** The keys for calls, by provider; absent: none. A key that cannot be decrypted is left out, or empty where no other key may pay. */
export function ownKeysOf(
  accountId: string,
  { providerKeys }: Pick<AccountRules, "providerKeys">,
  {
    secrets,
    feePercent,
    onUnopened,
  }: { readonly onUnopened: (provider: string) => void } & Pick<ProviderKeyParts, "secrets" | "feePercent">,
): { readonly ownKeys?: ReadonlyMap<string, OwnKey> } {
  const all = Object.entries(providerKeys);
  if (all.length === 0) return {};
  const opened = new Map<string, OwnKey>();
  for (const [provider, { sealed, fallback }] of all) {
    const key = openText(secrets(), purposeOf(accountId), sealed);
    if (key === null) onUnopened(provider);
    // Without fallback the call goes out with an empty key, which the provider refuses: it must not use ours.
    if (key !== null || !fallback) opened.set(provider, { key: key ?? "", fallback, feePercent, accountId });
  }
  return opened.size === 0 ? {} : { ownKeys: opened };
}

// Secrets that a rotation replaced and that stay valid for a while beside the new one, so that it interrupts no program that uses the key.
import type { KeyRow } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import type { Books } from "./books.ts";
import { keyRule, type RuleRecords, rulesOf } from "./rules.ts";

/** Maps a replaced secret's hash to its key; only the account's rules say whether it is still valid. */
const KIND = "former-secret";

/** A key found by a replaced secret, and the secret's expiry. */
export interface FormerKey {
  readonly key: KeyRow;
  readonly untilMs: number;
}

export async function keepFormer(
  records: RuleRecords,
  { accountId, keyId }: Pick<KeyRow, "accountId" | "keyId">,
  former: { readonly hash: string; readonly overlapMs: number },
): Promise<void> {
  const place = { kind: KIND, id: former.hash, payer: `acct:${accountId}`, ttlMs: former.overlapMs };
  await records.put({ ...place, value: JSON.stringify({ accountId, keyId }), ifVersion: 0 });
}

/** The key that had this secret and still accepts it; null: there is none. */
export async function keyOfFormer(
  { books, rules, clock }: { readonly books: Pick<Books, "key">; readonly rules: RuleRecords; readonly clock: Clock },
  secretHash: string,
): Promise<FormerKey | null> {
  const place = await rules.get(KIND, secretHash);
  if (place === null) return null;
  const { accountId, keyId } = JSON.parse(place.value) as Pick<KeyRow, "accountId" | "keyId">;
  const [key, ruled] = await Promise.all([books.key(accountId, keyId), rulesOf(rules, accountId)]);
  const { former } = keyRule(ruled, keyId);
  if (key === null || former?.hash !== secretHash || former.untilMs <= clock.epochMs()) return null;
  return { key, untilMs: former.untilMs };
}

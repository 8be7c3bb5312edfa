// A grant is a key row: what a person lets a client spend, with a ceiling, lists and an end date, revocable at once like any key.
import type { KeyLimits, NewKey } from "../../core/account-rows.ts";
import type { Clock } from "../../core/clock.ts";
import type { Books } from "../../money/accounts/books.ts";
import { GRANT_HINT } from "../../money/accounts/rows.ts";
import { mintId, mintKey } from "../../money/accounts/secrets.ts";

export type Grants = ReturnType<typeof createGrants>;

export function createGrants(books: Books, clock: Clock, forget: (accountId: string) => void) {
  return {
    /** The id of the new key row; null: the account has reached its limit of keys. */
    async make(accountId: string, label: string, limits: KeyLimits): Promise<string | null> {
      // The secret is discarded: a grant is used only by its access tokens.
      const { secretHash } = mintKey(false);
      const keyId = mintId("key_");
      const row = { keyId, secretHash, hint: GRANT_HINT, label, externalId: null } satisfies Partial<NewKey>;
      const made = await books.createKey(accountId, Object.assign(row, limits));
      return made === "created" ? keyId : null;
    },
    /** Whether it exists and has not expired. A paused one counts: it is refused call by call. */
    async isGood(accountId: string, keyId: string) {
      const key = await books.key(accountId, keyId);
      return key !== null && (key.expiresAtMs === null || key.expiresAtMs > clock.epochMs());
    },
    async revoke(accountId: string, keyId: string): Promise<void> {
      try {
        await books.deleteKey(accountId, keyId);
      } finally {
        forget(accountId);
      }
    },
  };
}

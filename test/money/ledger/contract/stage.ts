// The stage of `ledgerContract`: a store opened once, swept before each test, and a separate account for each test.
import { expect } from "vitest";
import { newAccount } from "../requests.ts";
import type { TestStore } from "../store.ts";

export type Stage = ReturnType<typeof stageOf>;

/** `open` returns the store once it is open. */
export function stageOf(open: () => TestStore) {
  let made = 0;
  return {
    get store(): TestStore {
      return open();
    },
    /** A new account for each test. */
    async account(cents: number, more: Parameters<typeof newAccount>[2] = {}) {
      const accountId = `account-${made++}`;
      expect(await open().ledger.openAccount(newAccount(accountId, cents, more))).toBe("opened");
      const hold = (id: string | number, cents: number) => ({
        ...{ accountId, holdId: `${accountId}.${id}`, cents, nowMs: open().clock.epochMs() },
      });
      return { accountId, keyId: `${accountId}.key`, hold };
    },
  };
}

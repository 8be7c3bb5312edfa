// The playground: the chat and action endpoints at their own paths, for signed-in people, paid by a play account.

import { systemClock } from "../core/clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import { isRecord, stringOf } from "../core/json.ts";
import { minus, nanoFromCents } from "../core/money.ts";
import { openAccount, WELCOME_CENTS } from "../money/accounts/open-account.ts";
import { mintId } from "../money/accounts/secrets.ts";
import type { Config } from "../platform/config.ts";
import { openingParts } from "./public-endpoints.ts";
import type { Stores } from "./stores.ts";

const KIND = "play-account";
/** Below this balance the account receives the day's play money. */
const LOW_NANO = nanoFromCents(100);
const DAY_MS = 86_400_000;
const PATHS: Readonly<Record<string, string>> = {
  "/api/llm/v1/chat/completions": "/try/chat",
  "/api/run/{service}/{action}": "/try/run/{service}/{action}",
};

interface PlayKey {
  readonly accountId: string;
  readonly keyId: string;
}

/** Finds an account's play account; opens it on first use. */
export function createPlayAccounts(config: Config, stores: Stores): (accountId: string) => Promise<PlayKey | null> {
  const { records, ledger: books } = stores;

  async function kept(accountId: string): Promise<PlayKey | null> {
    const found = await records.get(KIND, accountId);
    const value: unknown = found === null ? null : JSON.parse(found.value);
    if (!isRecord(value)) return null;
    return { accountId: stringOf(value.accountId) ?? "", keyId: stringOf(value.keyId) ?? "" };
  }

  async function open(accountId: string): Promise<PlayKey | null> {
    const owner = await books.account(accountId);
    if (owner === null) return null;
    const name = `playground of ${owner.name}`.slice(0, 200);
    const creditNano = nanoFromCents(WELCOME_CENTS.sandbox);
    const { body } = await openAccount(openingParts(config, stores), { name, kind: "sandbox", creditNano });
    const [key] = await books.keys(body.account_id);
    if (key === undefined) return null;
    const value = JSON.stringify({ accountId: body.account_id, keyId: key.keyId });
    // Of two opened concurrently, one stays; the other's play money is never spent.
    await records.put({ kind: KIND, id: accountId, payer: null, value, ttlMs: null, ifVersion: 0 });
    return kept(accountId);
  }

  return async (accountId) => {
    if (!config.sandbox) return null;
    const play = (await kept(accountId)) ?? (await open(accountId));
    const account = play === null ? null : await books.account(play.accountId);
    if (play === null || account === null) return null;
    if (minus(account.grantedNano, account.spentNano) < LOW_NANO) {
      const day = Math.floor(systemClock.epochMs() / DAY_MS);
      await books.topUp(
        play.accountId,
        mintId("tx_"),
        nanoFromCents(WELCOME_CENTS.sandbox),
        `play money of day ${day}`,
      );
    }
    return play;
  };
}

/** The same endpoints at the playground's paths, where a session is enough. */
export function playgroundEndpoints(endpoints: readonly Endpoint[]): readonly Endpoint[] {
  return endpoints.flatMap((endpoint) => {
    const path = endpoint.method === "POST" ? PATHS[endpoint.path] : undefined;
    if (path === undefined) return [];
    const { alias: _alias, overSocket: _socket, ...own } = endpoint;
    return [{ ...own, path, cookies: true as const }];
  });
}

// Opens an account with its primary key, for the operator or at a sign-up.
import { z } from "zod";
import type { AccountKind, AccountLimits, KeyLimits, NewAccount } from "../../core/account-rows.ts";
import { centsDown } from "../../core/money.ts";
import type { Books } from "./books.ts";
import { mintId, mintKey } from "./secrets.ts";

/** Play credit costs us nothing, so a sandbox account gets the larger amount. */
export const WELCOME_CENTS: Readonly<Record<AccountKind, number>> = { personal: 200, business: 1_000, sandbox: 1_000 };

export const nameSchema = z.string().trim().min(1, "must not be empty").max(200, "must have at most 200 characters");

export interface OpeningParts {
  readonly books: Books;
  readonly limits: AccountLimits;
}

/** A primary key starts without limits. */
const UNLIMITED: KeyLimits = {
  ceilingNano: null,
  ceilingPeriod: null,
  services: null,
  models: null,
  expiresAtMs: null,
};

export interface Opened {
  readonly status: 201;
  readonly body: { readonly account_id: string; readonly api_key: string; readonly balance_cents: number };
}

export interface OpeningIds {
  readonly accountId: string;
  readonly keyId: string;
}

export function mintOpening(): OpeningIds {
  return { accountId: mintId("acct_"), keyId: mintId("key_") };
}

/** Opens the account. Its key's secret is only in the answer, and is useless where an account with these ids already exists. */
export async function openAccount(
  { books, limits }: OpeningParts,
  { name, kind, creditNano }: Pick<NewAccount, "name" | "kind" | "creditNano">,
  { accountId, keyId } = mintOpening(),
): Promise<Opened> {
  const { secret, secretHash, hint } = mintKey(kind === "sandbox");
  await books.openAccount({
    accountId,
    name,
    kind,
    creditNano,
    ...limits,
    primaryKey: { keyId, secretHash, hint, label: "primary", externalId: null, ...UNLIMITED },
  });
  return { status: 201, body: { account_id: accountId, api_key: secret, balance_cents: centsDown(creditNano) } };
}

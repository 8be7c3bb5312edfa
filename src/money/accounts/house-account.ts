// House accounts book money that belongs to no customer: what anonymous payers pay, and what the wallet pays.
import { createHash } from "node:crypto";
import type { Accounts, NewAccount } from "../../core/account-rows.ts";
import { nano } from "../../core/money.ts";

/** Opens a house account, whose key no caller can have. */
export async function openHouseAccount(
  accounts: Pick<Accounts, "openAccount">,
  { label, ...account }: Pick<NewAccount, "accountId" | "name" | "kind" | "creditNano"> & { readonly label: string },
): Promise<void> {
  const { accountId } = account;
  await accounts.openAccount({
    ...account,
    inferenceCapNano: nano(9_000_000_000_000_000),
    requestsPerMinute: 10_000_000,
    inFlightMax: 1_000_000,
    primaryKey: {
      keyId: accountId,
      // The hash of a text that is not a valid secret.
      secretHash: createHash("sha256").update(`${accountId}: nobody has this key`).digest("hex"),
      hint: "none",
      label,
      externalId: null,
      ceilingNano: null,
      ceilingPeriod: null,
      services: null,
      models: null,
      expiresAtMs: null,
    },
  });
}

/** What a hold of a house account has besides its purpose: no limits, and no caller that could repeat it. */
export const HOUSE_HOLD = {
  parentId: null,
  slots: [],
  inference: false,
  windows: [],
  onExpire: "void",
  effect: "write",
  idempotency: null,
} as const;

/** The same for a posting of a house account: no tokens, and no provider's legs. */
export const HOUSE_POST = { absorbReason: "usage_above_hold", usage: null, estimated: false, legs: [] } as const;

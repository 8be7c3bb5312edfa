// Opens accounts and agents' keys for endpoint tests, through the endpoints.
import type { Gate } from "./gate.ts";

export interface Account {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
}

export async function openAccount(gate: Gate, body: object = {}): Promise<Account> {
  const { body: account } = await gate.admin("POST", "/admin/v1/accounts", { name: "one", credit_cents: 500, ...body });
  const seen = await gate.call(account.api_key, "GET", "/api/v1/account");
  return { id: account.account_id, key: account.api_key, keyId: seen.body.key.id };
}

export async function openAgent(gate: Gate, owner: Account, body: object = {}) {
  const { body: row } = await gate.call(owner.key, "POST", "/api/v1/agents", { label: "robot", ...body });
  return { id: row.id as string, key: row.api_key as string };
}

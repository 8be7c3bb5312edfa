// The endpoints that create, change, rotate and revoke keys: the same for the account itself and for the operator.
import type { EndpointSpec } from "../../core/endpoint.ts";
import { adminAccess, type Door, ownAccess } from "./account-access.ts";
import type { AdminAccountParts } from "./admin-accounts.ts";
import { changeKey, createKey, keyChangeSchema, newKeySchema, revokeKey, rotateKey, rotationSchema } from "./keys.ts";
import type { AccountParts, KeyParts } from "./own-endpoint.ts";
import { readBody } from "./read-body.ts";

/** `keys`: the path segment for keys; `key`: the path parameter of one key. */
function keyEndpoints(
  parts: KeyParts,
  { below, open }: Door,
  { keys, key }: { readonly keys: string; readonly key: string },
): EndpointSpec[] {
  const all = `${below}/${keys}`;
  const one = `${all}/{${key}}`;
  return [
    open("POST", all, async (owner, { body }) => createKey(parts, owner, readBody(newKeySchema, body))),
    open("PATCH", one, async (owner, { body, params }) =>
      changeKey(parts, { ...owner, keyId: params[key] ?? "" }, readBody(keyChangeSchema, body)),
    ),
    open("POST", `${one}/rotate`, async (owner, { body, params }) =>
      rotateKey(parts, { ...owner, keyId: params[key] ?? "" }, readBody(rotationSchema, body)),
    ),
    open("DELETE", one, ({ accountId }, request) => revokeKey(parts, { accountId, keyId: request.params[key] ?? "" })),
  ];
}

export function ownKeyEndpoints(parts: AccountParts): EndpointSpec[] {
  return keyEndpoints(parts, ownAccess(parts), { keys: "agents", key: "id" });
}

export function adminKeyEndpoints(parts: AdminAccountParts): EndpointSpec[] {
  return keyEndpoints(parts, adminAccess(parts), { keys: "keys", key: "key" });
}

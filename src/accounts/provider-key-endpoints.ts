// Provider keys of an account over HTTP: its own below `/api/v1`, any account's below `/admin/v1`. A key is never shown again.
import type { EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { adminEndpoint, withAccount } from "./admin-accounts.ts";
import type { Books } from "./books.ts";
import { changed } from "./changed.ts";
import { endpoint, writing } from "./own-endpoint.ts";
import {
  deleteProviderKey,
  listProviderKeys,
  type ProviderKeyParts,
  providerKeySchema,
  putProviderKey,
} from "./provider-keys.ts";
import { readBody } from "./read-body.ts";

interface Parts extends ProviderKeyParts {
  readonly books: Books;
  readonly forget: (accountId: string) => void;
}

const PATH = "/api/v1/provider-keys";
const ADMIN_PATH = "/admin/v1/accounts/{id}/provider-keys";

export function ownProviderKeyEndpoints(parts: Parts): EndpointSpec[] {
  return [
    endpoint("GET", PATH, async ({ caller }) =>
      caller.primary ? listProviderKeys(parts, caller.payer.accountId) : new GatewayError("key_cannot_mint_keys"),
    ),
    endpoint(
      "PUT",
      `${PATH}/{provider}`,
      writing(async ({ request, caller: { payer } }) => {
        const body = readBody(providerKeySchema, request.body);
        if (body instanceof GatewayError) return body;
        const whose = { ...payer, provider: request.params.provider ?? "" };
        return changed(
          () => putProviderKey(parts, whose, body),
          () => parts.forget(payer.accountId),
        );
      }),
    ),
    endpoint(
      "DELETE",
      `${PATH}/{provider}`,
      writing(async ({ request, caller: { payer } }) =>
        changed(
          () => deleteProviderKey(parts, payer.accountId, request.params.provider ?? ""),
          () => parts.forget(payer.accountId),
        ),
      ),
    ),
  ];
}

/** The operator sees which there are and takes them away; only their owner brings them. */
export function adminProviderKeyEndpoints(parts: Parts): EndpointSpec[] {
  return [
    adminEndpoint(
      "GET",
      ADMIN_PATH,
      withAccount(parts, async ({ accountId }) => listProviderKeys(parts, accountId)),
    ),
    adminEndpoint(
      "DELETE",
      `${ADMIN_PATH}/{provider}`,
      withAccount(parts, async ({ accountId }, { request }) =>
        changed(
          () => deleteProviderKey(parts, accountId, request.params.provider ?? ""),
          () => parts.forget(accountId),
        ),
      ),
    ),
  ];
}

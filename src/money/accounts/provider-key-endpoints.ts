// An account's provider keys over HTTP: its own below `/api/v1`, any account's below `/admin/v1`. A key is never shown again.
import type { EndpointSpec } from "../../core/endpoint.ts";
import { adminAccess, type Door, ownAccess } from "./account-access.ts";
import type { Books } from "./books.ts";
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

const PATH = "provider-keys";

/** Both the account and the operator can list and remove them. */
function anyEndpoints(parts: Parts, { below, open }: Door): EndpointSpec[] {
  return [
    open("GET", `${below}/${PATH}`, ({ accountId }) => listProviderKeys(parts, accountId)),
    open("DELETE", `${below}/${PATH}/{provider}`, ({ accountId }, { params }) =>
      deleteProviderKey(parts, accountId, params.provider ?? ""),
    ),
  ];
}

/** Only their owner can add them. */
export function ownProviderKeyEndpoints(parts: Parts): EndpointSpec[] {
  const door = ownAccess(parts);
  return [
    ...anyEndpoints(parts, door),
    door.open("PUT", `${door.below}/${PATH}/{provider}`, async (owner, { body, params }) =>
      putProviderKey(parts, { ...owner, provider: params.provider ?? "" }, readBody(providerKeySchema, body)),
    ),
  ];
}

export function adminProviderKeyEndpoints(parts: Parts): EndpointSpec[] {
  return anyEndpoints(parts, adminAccess(parts));
}

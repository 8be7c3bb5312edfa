// What an account's owner may do below `/api/v1`, and the operator for any account below `/admin/v1`: keys, groups, budgets, provider keys.
import type { Answer, Call, EndpointSpec } from "../../core/endpoint.ts";
import { adminAccess, type Door, ownAccess } from "./account-access.ts";
import { type AdminAccountParts, adminEndpoint } from "./admin-accounts.ts";
import type { Books } from "./books.ts";
import { anyBudgetsSchema, budgetsAnswer, changeBudgets, ownBudgetsSchema } from "./budgets.ts";
import { changeGroup, createGroup, deleteGroup, listGroups, showGroup } from "./groups.ts";
import { changeKey, createKey, keyChangeSchema, newKeySchema, revokeKey, rotateKey, rotationSchema } from "./keys.ts";
import { accountPageSchema, listAccounts } from "./list-pages.ts";
import type { AccountParts, KeyParts } from "./own-endpoint.ts";
import {
  deleteProviderKey,
  listProviderKeys,
  type ProviderKeyParts,
  providerKeySchema,
  putProviderKey,
} from "./provider-keys.ts";
import { readBody, readQuery } from "./read-body.ts";
import { groupChangeSchema, newGroupSchema } from "./rule-fields.ts";

/** What differs between the two APIs: the path segment of keys, the path parameters, and which budgets may change. */
interface Names {
  readonly keys: string;
  readonly key: string;
  readonly group: string;
  readonly budgets: typeof anyBudgetsSchema | typeof ownBudgetsSchema;
}

function sharedEndpoints(parts: KeyParts, { below, open }: Door, names: Names): EndpointSpec[] {
  const [keys, groups, budgets] = [`${below}/${names.keys}`, `${below}/groups`, `${below}/budgets`];
  const [key, group] = [`${keys}/{${names.key}}`, `${groups}/{${names.group}}`];
  const keyIn = (params: Call["request"]["params"]) => params[names.key] ?? "";
  const groupIn = (params: Call["request"]["params"]) => params[names.group] ?? "";
  return [
    open("POST", keys, async (owner, { body }) => createKey(parts, owner, readBody(newKeySchema, body))),
    open("PATCH", key, async (owner, { body, params }) =>
      changeKey(parts, { ...owner, keyId: keyIn(params) }, readBody(keyChangeSchema, body)),
    ),
    open("POST", `${key}/rotate`, async (owner, { body, params }) =>
      rotateKey(parts, { ...owner, keyId: keyIn(params) }, readBody(rotationSchema, body)),
    ),
    open("DELETE", key, ({ accountId }, { params }) => revokeKey(parts, { accountId, keyId: keyIn(params) })),
    open("GET", groups, async ({ accountId }) => ({
      status: 200,
      body: { groups: await listGroups(parts, accountId) },
    })),
    open("POST", groups, async (owner, { body }) => createGroup(parts, owner, readBody(newGroupSchema, body))),
    open("GET", group, ({ accountId }, { params }) => showGroup(parts, accountId, groupIn(params))),
    open("PATCH", group, async (owner, { body, params }) =>
      changeGroup(parts, { ...owner, groupId: groupIn(params) }, readBody(groupChangeSchema, body)),
    ),
    open("DELETE", group, ({ accountId }, { params }) => deleteGroup(parts, accountId, groupIn(params))),
    open("GET", budgets, ({ accountId }) => budgetsAnswer(parts, accountId)),
    open("PATCH", budgets, async ({ accountId }, { body }) =>
      changeBudgets(parts, accountId, readBody<Parameters<typeof changeBudgets>[2]>(names.budgets, body)),
    ),
  ];
}

export function ownSharedEndpoints(parts: AccountParts): EndpointSpec[] {
  const names = { keys: "agents", key: "id", group: "id", budgets: ownBudgetsSchema };
  return sharedEndpoints(parts, ownAccess(parts), names);
}

/** The groups of all accounts on a page; omits accounts without groups. */
async function allGroups(parts: AdminAccountParts, { request }: Call): Promise<Answer> {
  const page = readQuery(accountPageSchema, request.query);
  const { accounts, next } = await listAccounts(parts.books, page);
  const groups = await Promise.all(
    accounts.map(async ({ accountId, name }) =>
      (await listGroups(parts, accountId)).map((group) => ({ account_id: accountId, account_name: name, ...group })),
    ),
  );
  return { status: 200, body: { groups: groups.flat(), next_cursor: next } };
}

export function adminSharedEndpoints(parts: AdminAccountParts): EndpointSpec[] {
  const names = { keys: "keys", key: "key", group: "group", budgets: anyBudgetsSchema };
  const shared = sharedEndpoints(parts, adminAccess(parts), names);
  return [adminEndpoint("GET", "/admin/v1/groups", (call) => allGroups(parts, call)), ...shared];
}

interface KeptKeyParts extends ProviderKeyParts {
  readonly books: Books;
  readonly forget: (accountId: string) => void;
}

/** A key is never shown again. Both the account and the operator can list and remove keys. */
function anyProviderKeys(parts: KeptKeyParts, { below, open }: Door): EndpointSpec[] {
  return [
    open("GET", `${below}/provider-keys`, ({ accountId }) => listProviderKeys(parts, accountId)),
    open("DELETE", `${below}/provider-keys/{provider}`, ({ accountId }, { params }) =>
      deleteProviderKey(parts, accountId, params.provider ?? ""),
    ),
  ];
}

/** Only their owner can add them. */
export function ownProviderKeyEndpoints(parts: KeptKeyParts): EndpointSpec[] {
  const door = ownAccess(parts);
  return [
    ...anyProviderKeys(parts, door),
    door.open("PUT", `${door.below}/provider-keys/{provider}`, async (owner, { body, params }) =>
      putProviderKey(parts, { ...owner, provider: params.provider ?? "" }, readBody(providerKeySchema, body)),
    ),
  ];
}

export function adminProviderKeyEndpoints(parts: KeptKeyParts): EndpointSpec[] {
  return anyProviderKeys(parts, adminAccess(parts));
}

// Groups and budgets over HTTP: of an account's own below `/api/v1`, of any account below `/admin/v1`.
import type { AccountRow } from "../account-rows.ts";
import type { Answer, Call, EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { type AdminAccountParts, adminEndpoint, withAccount } from "./admin-accounts.ts";
import { anyBudgetsSchema, budgetsAnswer, changeBudgets, ownBudgetsSchema } from "./budgets.ts";
import { changed } from "./changed.ts";
import { changeGroup, createGroup, deleteGroup, listGroups, showGroup } from "./groups.ts";
import { accountPageSchema, listAccounts } from "./list-pages.ts";
import { type AccountParts, type Answering, endpoint, writing } from "./own-endpoint.ts";
import { ofBody, readQuery } from "./read-body.ts";
import { groupChangeSchema, newGroupSchema } from "./rule-fields.ts";

/** An agent key sees its account's money through its own row alone. */
function reading(answer: Answering): Answering {
  return async (call) => (call.caller.primary ? answer(call) : new GatewayError("key_cannot_mint_keys"));
}

export function ownRuleEndpoints(parts: AccountParts): EndpointSpec[] {
  const changing = (change: Answering): Answering =>
    writing((call) =>
      changed(
        () => change(call),
        () => parts.forget(call.caller.payer.accountId),
      ),
    );
  const groupId = ({ request }: Call) => request.params.id ?? "";
  return [
    endpoint(
      "GET",
      "/api/v1/groups",
      reading(async ({ caller }) => ({
        status: 200,
        body: { groups: await listGroups(parts, caller.payer.accountId) },
      })),
    ),
    endpoint(
      "POST",
      "/api/v1/groups",
      changing(({ request, caller }) =>
        ofBody(newGroupSchema, request, (body) => createGroup(parts, caller.payer, body)),
      ),
    ),
    endpoint(
      "GET",
      "/api/v1/groups/{id}",
      reading(async (call) => showGroup(parts, call.caller.payer.accountId, groupId(call))),
    ),
    endpoint(
      "PATCH",
      "/api/v1/groups/{id}",
      changing((call) =>
        ofBody(groupChangeSchema, call.request, (body) =>
          changeGroup(parts, { ...call.caller.payer, groupId: groupId(call) }, body),
        ),
      ),
    ),
    endpoint(
      "DELETE",
      "/api/v1/groups/{id}",
      changing(async (call) => deleteGroup(parts, call.caller.payer.accountId, groupId(call))),
    ),
    endpoint(
      "GET",
      "/api/v1/budgets",
      reading(async ({ caller }) => budgetsAnswer(parts, caller.payer.accountId)),
    ),
    endpoint(
      "PATCH",
      "/api/v1/budgets",
      changing(({ request, caller }) =>
        ofBody(ownBudgetsSchema, request, (body) => changeBudgets(parts, caller.payer.accountId, body)),
      ),
    ),
  ];
}

/** Of all accounts that a page of accounts has; one that has no groups is not named. */
async function allGroups(parts: AdminAccountParts, { request }: Call): Promise<Answer | GatewayError> {
  const page = readQuery(accountPageSchema, request.query);
  if (page instanceof GatewayError) return page;
  const { accounts, next } = await listAccounts(parts.books, page);
  const groups = await Promise.all(
    accounts.map(async ({ accountId, name }) =>
      (await listGroups(parts, accountId)).map((group) => ({ account_id: accountId, account_name: name, ...group })),
    ),
  );
  return { status: 200, body: { groups: groups.flat(), next_cursor: next } };
}

type OfAccount = (account: AccountRow, call: Call) => Promise<Answer | GatewayError>;

export function adminRuleEndpoints(parts: AdminAccountParts): EndpointSpec[] {
  const { books, forget } = parts;
  const ofAccount = (next: OfAccount) => withAccount(books, next);
  const changing = (change: OfAccount) =>
    ofAccount((account, call) =>
      changed(
        () => change(account, call),
        () => forget(account.accountId),
      ),
    );
  const groupOf = ({ accountId, kind }: AccountRow, { request }: Call) => ({
    accountId,
    sandbox: kind === "sandbox",
    groupId: request.params.group ?? "",
  });
  return [
    adminEndpoint("GET", "/admin/v1/groups", (call) => allGroups(parts, call)),
    adminEndpoint(
      "GET",
      "/admin/v1/accounts/{id}/groups",
      ofAccount(async ({ accountId }) => ({ status: 200, body: { groups: await listGroups(parts, accountId) } })),
    ),
    adminEndpoint(
      "POST",
      "/admin/v1/accounts/{id}/groups",
      changing((account, call) =>
        ofBody(newGroupSchema, call.request, (body) => createGroup(parts, groupOf(account, call), body)),
      ),
    ),
    adminEndpoint(
      "GET",
      "/admin/v1/accounts/{id}/groups/{group}",
      ofAccount(async ({ accountId }, { request }) => showGroup(parts, accountId, request.params.group ?? "")),
    ),
    adminEndpoint(
      "PATCH",
      "/admin/v1/accounts/{id}/groups/{group}",
      changing((account, call) =>
        ofBody(groupChangeSchema, call.request, (body) => changeGroup(parts, groupOf(account, call), body)),
      ),
    ),
    adminEndpoint(
      "DELETE",
      "/admin/v1/accounts/{id}/groups/{group}",
      changing(async ({ accountId }, { request }) => deleteGroup(parts, accountId, request.params.group ?? "")),
    ),
    adminEndpoint(
      "GET",
      "/admin/v1/accounts/{id}/budgets",
      ofAccount(async ({ accountId }) => budgetsAnswer(parts, accountId)),
    ),
    adminEndpoint(
      "PATCH",
      "/admin/v1/accounts/{id}/budgets",
      changing(({ accountId }, { request }) =>
        ofBody(anyBudgetsSchema, request, (body) => changeBudgets(parts, accountId, body)),
      ),
    ),
  ];
}

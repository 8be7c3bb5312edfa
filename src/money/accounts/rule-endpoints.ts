// Groups and budgets over HTTP: an account's own below `/api/v1`, any account's below `/admin/v1`.
import type { Answer, Call, EndpointSpec, GatewayRequest } from "../../core/endpoint.ts";
import { adminAccess, type Door, ownAccess } from "./account-access.ts";
import { type AdminAccountParts, adminEndpoint } from "./admin-accounts.ts";
import { anyBudgetsSchema, type BudgetParts, budgetsAnswer, changeBudgets, ownBudgetsSchema } from "./budgets.ts";
import { changeGroup, createGroup, deleteGroup, listGroups, showGroup } from "./groups.ts";
import { accountPageSchema, listAccounts } from "./list-pages.ts";
import type { AccountParts, KeyParts } from "./own-endpoint.ts";
import { readBody, readQuery } from "./read-body.ts";
import { groupChangeSchema, newGroupSchema } from "./rule-fields.ts";

/** What differs between the two APIs. */
interface RuleNames {
  readonly group: string;
  readonly budgets: typeof anyBudgetsSchema | typeof ownBudgetsSchema;
}

function ruleEndpoints(
  parts: KeyParts & BudgetParts,
  { below, open }: Door,
  { group, budgets }: RuleNames,
): EndpointSpec[] {
  const all = `${below}/groups`;
  const one = `${all}/{${group}}`;
  const idIn = (request: GatewayRequest) => request.params[group] ?? "";
  return [
    open("GET", all, async ({ accountId }) => ({ status: 200, body: { groups: await listGroups(parts, accountId) } })),
    open("POST", all, async (owner, { body }) => createGroup(parts, owner, readBody(newGroupSchema, body))),
    open("GET", one, ({ accountId }, request) => showGroup(parts, accountId, idIn(request))),
    open("PATCH", one, async (owner, request) =>
      changeGroup(parts, { ...owner, groupId: idIn(request) }, readBody(groupChangeSchema, request.body)),
    ),
    open("DELETE", one, ({ accountId }, request) => deleteGroup(parts, accountId, idIn(request))),
    open("GET", `${below}/budgets`, ({ accountId }) => budgetsAnswer(parts, accountId)),
    open("PATCH", `${below}/budgets`, async ({ accountId }, { body }) =>
      changeBudgets(parts, accountId, readBody<Parameters<typeof changeBudgets>[2]>(budgets, body)),
    ),
  ];
}

export function ownRuleEndpoints(parts: AccountParts): EndpointSpec[] {
  return ruleEndpoints(parts, ownAccess(parts), { group: "id", budgets: ownBudgetsSchema });
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

export function adminRuleEndpoints(parts: AdminAccountParts): EndpointSpec[] {
  const ruled = ruleEndpoints(parts, adminAccess(parts), { group: "group", budgets: anyBudgetsSchema });
  return [adminEndpoint("GET", "/admin/v1/groups", (call) => allGroups(parts, call)), ...ruled];
}

// Groups and budgets over HTTP: of an account's own below `/api/v1`, of any account below `/admin/v1`.
import type { Answer, Call, EndpointShape, EndpointSpec, GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { type AdminAccountParts, adminEndpoint, changingAccount, withAccount } from "./admin-accounts.ts";
import { anyBudgetsSchema, type BudgetParts, budgetsAnswer, changeBudgets, ownBudgetsSchema } from "./budgets.ts";
import { changed } from "./changed.ts";
import {
  changeGroup,
  createGroup,
  deleteGroup,
  type GroupOwner,
  type GroupParts,
  listGroups,
  showGroup,
} from "./groups.ts";
import { accountPageSchema, listAccounts } from "./list-pages.ts";
import { type AccountParts, type Answering, endpoint, writing } from "./own-endpoint.ts";
import { ofBody, readQuery } from "./read-body.ts";
import { groupChangeSchema, newGroupSchema } from "./rule-fields.ts";

type Result = Promise<Answer | GatewayError>;
type Rule = (owner: GroupOwner, request: GatewayRequest) => Result;

/** Whose rules they are, and who may ask. What is no GET changes them. */
interface RuleDoor {
  readonly below: string;
  /** What the path calls a group. */
  readonly group: string;
  readonly budgets: typeof anyBudgetsSchema | typeof ownBudgetsSchema;
  open(method: EndpointShape["method"], path: string, rule: Rule): EndpointSpec;
}

function ruleEndpoints(parts: GroupParts & BudgetParts, { below, group, budgets, open }: RuleDoor): EndpointSpec[] {
  const all = `${below}/groups`;
  const one = `${all}/{${group}}`;
  const idIn = (request: GatewayRequest) => request.params[group] ?? "";
  return [
    open("GET", all, async ({ accountId }) => ({ status: 200, body: { groups: await listGroups(parts, accountId) } })),
    open("POST", all, (owner, request) => ofBody(newGroupSchema, request, (body) => createGroup(parts, owner, body))),
    open("GET", one, ({ accountId }, request) => showGroup(parts, accountId, idIn(request))),
    open("PATCH", one, (owner, request) =>
      ofBody(groupChangeSchema, request, (body) => changeGroup(parts, { ...owner, groupId: idIn(request) }, body)),
    ),
    open("DELETE", one, ({ accountId }, request) => deleteGroup(parts, accountId, idIn(request))),
    open("GET", `${below}/budgets`, ({ accountId }) => budgetsAnswer(parts, accountId)),
    open("PATCH", `${below}/budgets`, ({ accountId }, request) =>
      ofBody<Parameters<typeof changeBudgets>[2], Answer | GatewayError>(budgets, request, (body) =>
        changeBudgets(parts, accountId, body),
      ),
    ),
  ];
}

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
  return ruleEndpoints(parts, {
    below: "/api/v1",
    group: "id",
    budgets: ownBudgetsSchema,
    open(method, path, rule) {
      const answer: Answering = ({ caller, request }) => rule(caller.payer, request);
      return endpoint(method, path, method === "GET" ? reading(answer) : changing(answer));
    },
  });
}

/** Of all accounts that a page of accounts has; one that has no groups is not named. */
async function allGroups(parts: AdminAccountParts, { request }: Call): Result {
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

export function adminRuleEndpoints(parts: AdminAccountParts): EndpointSpec[] {
  const ruled = ruleEndpoints(parts, {
    below: "/admin/v1/accounts/{id}",
    group: "group",
    budgets: anyBudgetsSchema,
    open(method, path, rule) {
      const of = method === "GET" ? withAccount : changingAccount;
      const answer = of(parts, ({ accountId, kind }, { request }) =>
        rule({ accountId, sandbox: kind === "sandbox" }, request),
      );
      return adminEndpoint(method, path, answer);
    },
  });
  return [adminEndpoint("GET", "/admin/v1/groups", (call) => allGroups(parts, call)), ...ruled];
}

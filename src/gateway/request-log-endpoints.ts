// Who reads the request log and who switches it on: the operator for every account and, where that is allowed, an owner for its own.
import { z } from "zod";
import type { Answer, EndpointSpec } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { adminEndpoint } from "../money/accounts/admin-accounts.ts";
import { changed } from "../money/accounts/changed.ts";
import { endpoint, writing } from "../money/accounts/own-endpoint.ts";
import { readBody, readQuery } from "../money/accounts/read-body.ts";
import { changeRules, rulesOf } from "../money/accounts/rules.ts";
import type { LoggedName, LogLook } from "../platform/observe/log-lines.ts";
import type { LoggedCall, RequestLog } from "../platform/observe/request-log.ts";
import type { Foundation } from "./open-foundation.ts";

const LISTED = 50;
/** An account that asks for what is not there would have all of it read each time. */
const OF_ACCOUNT_BYTES_MAX = 16 * 1024 * 1024;

const switchSchema = z.strictObject({ enabled: z.boolean("must be true or false") });
const limit = z.coerce.number("must be a number").int("must be a whole number").min(1).max(1_000).default(LISTED);
const ownSchema = z.strictObject({ limit });
const listSchema = z.strictObject({ account: z.string().min(1, "must not be empty").max(100).optional(), limit });

export interface RequestLogParts extends Pick<Foundation, "stores"> {
  readonly log: RequestLog;
  readonly forget: (accountId: string) => void;
}

export function nameRow({ at, transactionId, requestId, accountId }: LoggedName) {
  return { at, transaction_id: transactionId, request_id: requestId, account_id: accountId };
}

export function callRow(call: LoggedCall) {
  const { keyId: key_id, path, asked, status, code, body, answer } = call;
  return { ...nameRow(call), key_id, path, asked, status, code, body, answer };
}

async function foundCall(log: RequestLog, look: LogLook, id: string): Promise<Answer | GatewayError> {
  const call = await log.find(look, id);
  // Where it would be looked for is read off its name: this holds whatever lies there.
  if (call === null || (look.accountId !== null && call.accountId !== look.accountId)) {
    const detail = { detail: "No call of that transaction or request is kept here." };
    return new GatewayError("not_found", { of: "any_transaction", detail });
  }
  return { status: 200, body: callRow(call) };
}

function switched({ stores, forget }: RequestLogParts, accountId: string, body: Buffer) {
  return changed(
    async () => {
      const asked = readBody(switchSchema, body);
      if (asked instanceof GatewayError) return asked;
      const change = (before: Awaited<ReturnType<typeof rulesOf>>) => ({ ...before, logsCalls: asked.enabled });
      const after = await changeRules(stores.records, accountId, change);
      if (after instanceof GatewayError) return after;
      return { status: 200, body: { account_id: accountId, enabled: after.logsCalls } };
    },
    () => forget(accountId),
  );
}

/** The operator's. */
export function requestLogEndpoints(parts: RequestLogParts): readonly EndpointSpec[] {
  const { stores, log } = parts;
  const all = { accountId: null, bytesMax: Number.POSITIVE_INFINITY };
  return [
    adminEndpoint("PUT", "/admin/v1/accounts/{id}/request-log", async ({ request }) => {
      const accountId = request.params.id ?? "";
      if ((await stores.ledger.account(accountId)) !== null) return switched(parts, accountId, request.body);
      return new GatewayError("not_found", { of: "account", detail: { detail: "There is no such account." } });
    }),
    adminEndpoint("GET", "/admin/v1/request-log", async ({ request }) => {
      const query = readQuery(listSchema, request.query);
      if (query instanceof GatewayError) return query;
      const calls = await log.list({ ...all, accountId: query.account ?? null }, query.limit);
      return { status: 200, body: { calls: calls.map(nameRow) } };
    }),
    adminEndpoint("GET", "/admin/v1/request-log/{id}", ({ request }) => foundCall(log, all, request.params.id ?? "")),
  ];
}

/** An owner's, where the operator lets owners have them. */
export function ownRequestLogEndpoints(parts: RequestLogParts): readonly EndpointSpec[] {
  const { stores, log } = parts;
  /** Accounts that look just now: it is much work for a free call. */
  const looks = new Set<string>();
  const looking = (accountId: string, look: (own: LogLook) => Promise<Answer | GatewayError>) => {
    if (looks.has(accountId))
      return new GatewayError("concurrency_limit", { detail: { limit: 1 }, retryAfterSeconds: 1 });
    looks.add(accountId);
    return look({ accountId, bytesMax: OF_ACCOUNT_BYTES_MAX }).finally(() => looks.delete(accountId));
  };
  return [
    endpoint("GET", "/api/v1/request-log", async ({ request, caller: { primary, payer } }) => {
      if (!primary) return new GatewayError("key_cannot_mint_keys");
      const query = readQuery(ownSchema, request.query);
      if (query instanceof GatewayError) return query;
      const { accountId } = payer;
      const { logsCalls: enabled } = await rulesOf(stores.records, accountId);
      return looking(accountId, async (own) => {
        const calls = await log.list(own, query.limit);
        return { status: 200, body: { enabled, calls: calls.map(nameRow) } };
      });
    }),
    endpoint("GET", "/api/v1/request-log/{id}", async ({ request, caller: { primary, payer } }) =>
      primary
        ? looking(payer.accountId, (own) => foundCall(log, own, request.params.id ?? ""))
        : new GatewayError("key_cannot_mint_keys"),
    ),
    endpoint(
      "PUT",
      "/api/v1/request-log",
      writing(({ request, caller }) => switched(parts, caller.payer.accountId, request.body)),
    ),
  ];
}

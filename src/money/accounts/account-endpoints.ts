// What an account's keys can read: balance, transactions, agent keys; and the endpoints that change keys and rules.
import type { Call, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { findTransaction } from "./find-transaction.ts";
import { keyPageSchema, listKeys } from "./list-pages.ts";
import { named } from "./names.ts";
import { type AccountParts, endpoint, missing } from "./own-endpoint.ts";
import { readQuery } from "./read-body.ts";
import { keyRow, ownAccountRow, wholeTransactionRow } from "./rows.ts";
import { rulesOf } from "./rules.ts";
import { ownSharedEndpoints } from "./shared-endpoints.ts";
import { failedCall, ownReports, ownTransactions } from "./usage-endpoints.ts";
import { whyAnswer, whySchema } from "./why.ts";

function idOf(call: Call): string {
  return call.request.params.id ?? "";
}

function readingEndpoints(parts: AccountParts): EndpointSpec[] {
  const { books, rules, failedCalls } = parts;
  const usage = ownReports(parts);
  return [
    endpoint("GET", "/api/v1/account", async ({ caller, request }) => {
      const { payer } = caller;
      const [account, key, run] = await Promise.all([
        books.account(payer.accountId),
        books.key(payer.accountId, payer.keyId),
        parts.runOf?.(caller, request) ?? null,
      ]);
      if (account === null) throw new GatewayError("invalid_token", { detail: "The account is gone." });
      const row = ownAccountRow(account, key);
      return { status: 200, body: run === null ? row : { ...row, run } };
    }),
    endpoint("GET", "/api/v1/transactions", ({ request, caller }) =>
      ownTransactions(books, failedCalls, caller, request.query),
    ),
    endpoint("GET", "/api/v1/usage", ({ request, caller }) => usage(caller, request.query)),
    endpoint("GET", "/api/v1/transactions/{id}", async (call) => {
      const { payer, primary } = call.caller;
      const found = await findTransaction(books, payer.accountId, idOf(call));
      const own = { accountId: payer.accountId, keyId: primary ? null : payer.keyId };
      const failed = found === null ? await failedCall(parts, idOf(call), own) : null;
      if (failed !== null) return { status: 200, body: failed };
      if (found === null || (!primary && found.posting.keyId !== payer.keyId))
        throw missing("transaction", "There is no such transaction.");
      return { status: 200, body: (await named(books, payer.accountId, [found], wholeTransactionRow))[0] };
    }),
    endpoint("GET", "/api/v1/agents", async ({ request, caller: { payer, primary } }) => {
      const page = readQuery(keyPageSchema, request.query);
      const ruled = await rulesOf(rules, payer.accountId);
      if (primary) {
        const { keys, next } = await listKeys(books, payer.accountId, page);
        return { status: 200, body: { agents: keys.map((key) => keyRow(key, ruled)), next_cursor: next } };
      }
      const own = await books.key(payer.accountId, payer.keyId);
      return { status: 200, body: { agents: own === null ? [] : [keyRow(own, ruled)], next_cursor: null } };
    }),
    endpoint("GET", "/api/v1/agents/{id}/why", async (call) => {
      const asked = readQuery(whySchema, call.request.query);
      const { payer, primary } = call.caller;
      const account = await books.account(payer.accountId);
      if (account === null || (!primary && idOf(call) !== payer.keyId)) throw new GatewayError("key_cannot_mint_keys");
      return whyAnswer({ ...parts, failedCalls: null }, account, idOf(call), asked);
    }),
  ];
}

/** The endpoints below `/api/v1` that an account's keys can call. */
export function accountEndpoints(parts: AccountParts): EndpointSpec[] {
  return [...readingEndpoints(parts), ...ownSharedEndpoints(parts)];
}

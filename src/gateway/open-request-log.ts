// The request log: where it lies, with which secret it is sealed, and how the operator switches it on for an account and reads it.
import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { adminEndpoint } from "../accounts/admin-accounts.ts";
import { changed } from "../accounts/changed.ts";
import { readBody, readQuery } from "../accounts/read-body.ts";
import { changeRules } from "../accounts/rules.ts";
import { systemClock } from "../clock.ts";
import type { EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { signingSecrets } from "../files/signed-links.ts";
import { createRedactor } from "../observe/redactor.ts";
import { createRequestLog, type LoggedCall, type LoggedName, type RequestLog } from "../observe/request-log.ts";
import { diskBounds, diskRoom } from "../storage/disk-guard.ts";
import { openText, sealText } from "../storage/sealed-text.ts";
import type { Foundation } from "./open-foundation.ts";

const PURPOSE = "request log";
const LISTED = 50;

const switchSchema = z.strictObject({ enabled: z.boolean("must be true or false") });
const listSchema = z.strictObject({
  account: z.string().min(1, "must not be empty").max(100).optional(),
  limit: z.coerce.number("must be a number").int("must be a whole number").min(1).max(1_000).default(LISTED),
});

/** Nothing is opened or written before a call is kept. */
export function openRequestLog({
  config,
  observer,
  broken,
}: Pick<Foundation, "config" | "observer" | "broken">): RequestLog {
  const { dataDir, signingSecret } = config;
  const folder = config.requestLogDir ?? join(dataDir, "request-log");
  let known: readonly string[] | null = null;
  const secrets = () => {
    known ??= signingSecrets(signingSecret, dataDir);
    return known;
  };
  return createRequestLog({
    folder,
    owner: randomUUID(),
    days: config.requestLogDays,
    bytesMax: config.requestLogBytesMax,
    hasRoom: async (bytes) => {
      const { freeBytes, freeBytesMin } = await diskRoom(folder, diskBounds(config.diskFreeMibMin));
      const [ours, books] = await Promise.all([stat(folder), stat(dataDir)]);
      // On the disk of the books it never takes what these need to go on; a disk of its own may be full.
      return freeBytes - bytes > (ours.dev === books.dev ? 2 * freeBytesMin : 0);
    },
    clock: systemClock,
    redact: createRedactor(config.requestLogRedact),
    seal: (text) => sealText(secrets()[0] ?? "", PURPOSE, text),
    unseal: (sealed) => openText(secrets(), PURPOSE, sealed),
    onOutcome: observer.callLogged,
    onBroken: (error) => broken(error, "the request log was not written"),
  });
}

export function nameRow({ at, transactionId, requestId, accountId }: LoggedName) {
  return { at, transaction_id: transactionId, request_id: requestId, account_id: accountId };
}

export function callRow(call: LoggedCall) {
  const { keyId: key_id, path, asked, status, code, body, answer } = call;
  return { ...nameRow(call), key_id, path, asked, status, code, body, answer };
}

export interface RequestLogParts extends Pick<Foundation, "stores"> {
  readonly log: RequestLog;
  readonly forget: (accountId: string) => void;
}

export function requestLogEndpoints({ stores, log, forget }: RequestLogParts): readonly EndpointSpec[] {
  return [
    adminEndpoint("PUT", "/admin/v1/accounts/{id}/request-log", async ({ request }) => {
      const body = readBody(switchSchema, request.body);
      if (body instanceof GatewayError) return body;
      const accountId = request.params.id ?? "";
      if ((await stores.ledger.account(accountId)) === null) {
        return new GatewayError("not_found", { of: "account", detail: { detail: "There is no such account." } });
      }
      const change = async () => {
        const after = await changeRules(stores.records, accountId, (before) => ({
          ...before,
          logsCalls: body.enabled,
        }));
        return after instanceof GatewayError
          ? after
          : { status: 200, body: { account_id: accountId, enabled: after.logsCalls } };
      };
      return changed(change, () => forget(accountId));
    }),
    adminEndpoint("GET", "/admin/v1/request-log", async ({ request }) => {
      const query = readQuery(listSchema, request.query);
      if (query instanceof GatewayError) return query;
      const calls = await log.list(query.account ?? null, query.limit);
      return { status: 200, body: { calls: calls.map(nameRow) } };
    }),
    adminEndpoint("GET", "/admin/v1/request-log/{id}", async ({ request }) => {
      const call = await log.find(request.params.id ?? "");
      if (call === null) {
        const detail = { detail: "No call of that transaction or request is kept here." };
        return new GatewayError("not_found", { of: "any_transaction", detail });
      }
      return { status: 200, body: callRow(call) };
    }),
  ];
}

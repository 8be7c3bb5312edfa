// The request log: its storage and encryption; and its endpoints, for the operator and, where allowed, for account owners.
import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { openS3Objects } from "../actions/files/s3-bucket.ts";
import { signingSecrets } from "../actions/files/signed-links.ts";
import { systemClock } from "../core/clock.ts";
import type { Answer, EndpointSpec } from "../core/endpoint.ts";
import { GatewayError } from "../core/errors.ts";
import { requestTimeMs } from "../edge/http/request-id.ts";
import { adminEndpoint, noSuchAccount } from "../money/accounts/admin-accounts.ts";
import { changed } from "../money/accounts/changed.ts";
import { endpoint, missing, writing } from "../money/accounts/own-endpoint.ts";
import { readBody, readQuery } from "../money/accounts/read-body.ts";
import { changeRules, rulesOf } from "../money/accounts/rules.ts";
import { type Config, doesWork } from "../platform/config.ts";
import { LogBucket } from "../platform/observe/log-bucket.ts";
import { LogFolder } from "../platform/observe/log-folder.ts";
import type { LoggedName, LogLook, LogStore } from "../platform/observe/log-lines.ts";
import { createRedactor } from "../platform/observe/redactor.ts";
import { createRequestLog, type LoggedCall, type RequestLog } from "../platform/observe/request-log.ts";
import { diskBounds, diskRoom } from "../platform/storage/disk-guard.ts";
import { openText, sealText } from "../platform/storage/sealed-text.ts";
import type { Foundation } from "./open-foundation.ts";

const PURPOSE = "request log";

function openFolder(config: Config): LogStore {
  const { dataDir, requestLogDays: days, requestLogBytesMax: bytesMax } = config;
  const folder = config.requestLogDir ?? join(dataDir, "request-log");
  const hasRoom = async (bytes: number) => {
    const { freeBytes, freeBytesMin } = await diskRoom(folder, diskBounds(config.diskFreeMibMin));
    const [ours, books] = await Promise.all([stat(folder), stat(dataDir)]);
    // On the ledger's disk, leave room for the ledger; a separate disk may fill up.
    return freeBytes - bytes > (ours.dev === books.dev ? 2 * freeBytesMin : 0);
  };
  return new LogFolder({ folder, owner: randomUUID(), days, bytesMax, hasRoom });
}

function openBucket(config: Config, endpoint: string, onBroken: (error: unknown) => void): LogStore {
  const objects = openS3Objects({
    endpoint,
    bucket: config.requestLogS3Bucket ?? "",
    region: config.requestLogS3Region,
    accessKeyId: config.requestLogS3AccessKeyId ?? "",
    secretAccessKey: config.requestLogS3SecretAccessKey ?? "",
    clock: systemClock,
    proxies: config.proxies,
  });
  const days = config.requestLogDays;
  const bucket = new LogBucket({ objects, owner: randomUUID(), days, clock: systemClock, onBroken });
  if (doesWork(config)) void bucket.keepSwept();
  return bucket;
}

/** Opens and writes nothing before the first call is logged, except that it sweeps a bucket. */
export function openRequestLog({
  config,
  observer,
  broken,
}: Pick<Foundation, "config" | "observer" | "broken">): RequestLog {
  const { dataDir, signingSecret, requestLogS3Endpoint: bucketEndpoint } = config;
  let known: readonly string[] | null = null;
  const secrets = () => {
    known ??= signingSecrets(signingSecret, dataDir);
    return known;
  };
  const onBroken = (error: unknown) => broken(error, "the request log was not written");
  return createRequestLog({
    store: bucketEndpoint === null ? openFolder(config) : openBucket(config, bucketEndpoint, onBroken),
    clock: systemClock,
    beganMs: requestTimeMs,
    redact: createRedactor(config.requestLogRedact),
    seal: (text) => sealText(secrets()[0] ?? "", PURPOSE, text),
    unseal: (sealed) => openText(secrets(), PURPOSE, sealed),
    onOutcome: observer.callLogged,
    onBroken,
  });
}

const LISTED = 50;
/** Limits what a search of one account reads. */
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

async function foundCall(log: RequestLog, look: LogLook, id: string): Promise<Answer> {
  const call = await log.find(look, id);
  // The store searches by name, so check the owner again.
  if (call === null || (look.accountId !== null && call.accountId !== look.accountId)) {
    throw missing("any_transaction", "No call of that transaction or request is kept here.");
  }
  return { status: 200, body: callRow(call) };
}

function switched({ stores, forget }: RequestLogParts, accountId: string, body: Buffer) {
  return changed(
    async () => {
      const asked = readBody(switchSchema, body);
      const change = (before: Awaited<ReturnType<typeof rulesOf>>) => ({ ...before, logsCalls: asked.enabled });
      const after = await changeRules(stores.records, accountId, change);
      return { status: 200, body: { account_id: accountId, enabled: after.logsCalls } };
    },
    () => forget(accountId),
  );
}

export function requestLogEndpoints(parts: RequestLogParts): readonly EndpointSpec[] {
  const { stores, log } = parts;
  const all = { accountId: null, bytesMax: Number.POSITIVE_INFINITY };
  return [
    adminEndpoint("PUT", "/admin/v1/accounts/{id}/request-log", async ({ request }) => {
      const accountId = request.params.id ?? "";
      if ((await stores.ledger.account(accountId)) === null) throw noSuchAccount();
      return switched(parts, accountId, request.body);
    }),
    adminEndpoint("GET", "/admin/v1/request-log", async ({ request }) => {
      const query = readQuery(listSchema, request.query);
      const calls = await log.list({ ...all, accountId: query.account ?? null }, query.limit);
      return { status: 200, body: { calls: calls.map(nameRow) } };
    }),
    adminEndpoint("GET", "/admin/v1/request-log/{id}", ({ request }) => foundCall(log, all, request.params.id ?? "")),
  ];
}

/** For account owners, where the operator allows it. */
export function ownRequestLogEndpoints(parts: RequestLogParts): readonly EndpointSpec[] {
  const { stores, log } = parts;
  /** Accounts with a running search: one at a time, because a search is free and expensive. */
  const looks = new Set<string>();
  const looking = (accountId: string, look: (own: LogLook) => Promise<Answer>) => {
    if (looks.has(accountId))
      throw new GatewayError("concurrency_limit", { detail: { limit: 1 }, retryAfterSeconds: 1 });
    looks.add(accountId);
    return look({ accountId, bytesMax: OF_ACCOUNT_BYTES_MAX }).finally(() => looks.delete(accountId));
  };
  return [
    endpoint("GET", "/api/v1/request-log", async ({ request, caller: { primary, payer } }) => {
      if (!primary) throw new GatewayError("key_cannot_mint_keys");
      const query = readQuery(ownSchema, request.query);
      const { accountId } = payer;
      const { logsCalls: enabled } = await rulesOf(stores.records, accountId);
      return looking(accountId, async (own) => {
        const calls = await log.list(own, query.limit);
        return { status: 200, body: { enabled, calls: calls.map(nameRow) } };
      });
    }),
    endpoint("GET", "/api/v1/request-log/{id}", async ({ request, caller: { primary, payer } }) => {
      if (!primary) throw new GatewayError("key_cannot_mint_keys");
      return looking(payer.accountId, (own) => foundCall(log, own, request.params.id ?? ""));
    }),
    endpoint(
      "PUT",
      "/api/v1/request-log",
      writing(({ request, caller }) => switched(parts, caller.payer.accountId, request.body)),
    ),
  ];
}

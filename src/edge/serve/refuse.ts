// Renders the error that ends a call, in the format of its endpoint.
import type { Endpoint, ErrorCodec, GatewayRequest, Reply } from "../../core/endpoint.ts";
import { type ErrorCode, GatewayError, isOwnFault } from "../../core/errors.ts";
import { isRecord, stringOf } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";
import { getOrMake, putLast } from "../../core/maps.ts";
import { minus, type Nano } from "../../core/money.ts";
import { admitAnyone } from "./admit.ts";
import { addHeaders, Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";

/** Longer bodies are not parsed for it. */
const BODY_BYTES_MAX = 64 * 1024;

/** Null: it names none. */
function requestedName({ params, body }: Pick<GatewayRequest, "params" | "body">): string | null {
  const { service, action, model } = params;
  if (service !== undefined && action !== undefined) return `${service}/${action}`;
  if (model !== undefined || body.length === 0 || body.length > BODY_BYTES_MAX) return model ?? null;
  const read = readJson(body);
  return "wrong" in read || !isRecord(read.json) ? null : (stringOf(read.json.model) ?? null);
}

/** The ledger is unavailable, so it is not read again for the error. */
const LEDGER_AWAY: ReadonlySet<ErrorCode> = new Set(["ledger_unavailable", "clock_skew"]);
/** Callers over their rate limit must not load the ledger: one reading of the balance serves all their refusals for this long. */
const RECENT_MS = 1_000;
const RECENT_MAX = 10_000;
const recent = new WeakMap<ServeDeps["ledger"], Map<string, { atMs: number; balance: Promise<Nano | null> }>>();

type Deps = Pick<ServeDeps, "ledger" | "clock">;

function balanceOf(accountId: string, { ledger }: Deps): Promise<Nano | null> {
  const read = ledger.account(accountId);
  return read
    .then((account) => (account === null ? null : minus(account.grantedNano, account.spentNano)))
    .catch(() => null);
}

function recentBalanceOf(accountId: string, deps: Deps): Promise<Nano | null> {
  const known = getOrMake(recent, deps.ledger, () => new Map());
  const atMs = deps.clock.elapsedMs();
  const found = known.get(accountId);
  if (found !== undefined && atMs - found.atMs < RECENT_MS) return found.balance;
  const balance = balanceOf(accountId, deps);
  putLast(known, accountId, { atMs, balance }, RECENT_MAX);
  return balance;
}

/** Null where the format does not include it, or where payer or balance are unknown. */
async function balanceLeft(error: GatewayError, accountId: string | null, errors: ErrorCodec, deps: Deps) {
  if (errors.tellsBalance === undefined || accountId === null || LEDGER_AWAY.has(error.code)) return null;
  return error.code === "rate_limited" ? recentBalanceOf(accountId, deps) : balanceOf(accountId, deps);
}

/** Every 401 names a way to authenticate (RFC 9110, 15.5.2), unless the error has its own. */
const BEARER = 'Bearer realm="tollgate"';

function tellChallenge(reply: Reply, error: GatewayError, path: string, { challenge }: ServeDeps): void {
  if (error.options.headers !== undefined) return;
  if (error.status === 401 || error.code === "insufficient_scope")
    reply.header("www-authenticate", challenge?.(path, error) ?? BEARER);
}

/** Sends an error and returns its length. SDKs follow `x-should-retry` before their own retry rules. */
function sendError(reply: Reply, error: GatewayError, text: string): number {
  const { retryAfterSeconds, headers } = error.options;
  reply.header("content-type", "application/json");
  reply.header("x-should-retry", String(error.retry));
  addHeaders(reply, headers);
  if (retryAfterSeconds !== undefined) reply.header("retry-after", String(Math.max(1, Math.ceil(retryAfterSeconds))));
  reply.send(error.status, text);
  return Buffer.byteLength(text);
}

/** Renders the error that ended the call, where no head was written yet. */
export async function refuse(call: Call, error: unknown, deps: ServeDeps): Promise<void> {
  const { request, endpoint, record, rateLimit } = call;
  const isExpected = error === call.refusal || error === call.notAdmitted;
  if (!isExpected && isOwnFault(error)) deps.onBroken(error, request.id);
  const told = error instanceof GatewayError ? error : new GatewayError("internal_error", { cause: error });
  record.status = told.status;
  record.code = told.code;
  record.told = told.message;
  if (record.keyId !== null && "plan" in endpoint) record.asked ??= requestedName(request);
  const { reply } = call;
  if (reply.closed) return;
  const { window } = told.options;
  if (window !== undefined) rateLimit.learn({ allowed: false, remaining: 0, ...window });
  rateLimit.tell();
  const balance = await balanceLeft(told, record.accountId, endpoint.errors, deps);
  if (reply.closed) return;
  call.tellRun();
  tellChallenge(reply, told, endpoint.path, deps);
  record.bytesOut = sendError(reply, told, JSON.stringify(endpoint.errors.body(told, balance, request.id)));
}

const NEVER = (): never => {
  throw new Error("a refused request is not answered");
};

/** Never reached an endpoint: an unknown path or method, a bad body, a wrong host. Counts for an account with a valid key. */
export async function refuseAtEdge(
  request: GatewayRequest,
  reply: Reply,
  error: GatewayError,
  { errors, deps }: { readonly errors: ErrorCodec; readonly deps: ServeDeps },
): Promise<void> {
  const { path } = request;
  const endpoint: Endpoint = { method: "GET", path, auth: "none", bodyBytesMax: 0, errors, answer: NEVER };
  const call = new Call(request, endpoint, reply, deps);
  try {
    await admitAnyone(call, deps);
    call.record.accountId = call.caller?.payer.accountId ?? null;
    call.record.keyId = call.caller?.payer.keyId ?? null;
  } catch {
    // A rate-limit error replaces the original one; an unavailable store changes nothing.
  }
  call.refusal ??= error;
  await refuse(call, call.refusal, deps);
  deps.observer.end(call.record);
}

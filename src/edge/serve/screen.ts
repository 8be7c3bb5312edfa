// Refuses long bodies of callers who could not pay for the call, before the body is read or parsed, so that they cannot exhaust memory.
import type { EndpointShape, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { minus, usdText, ZERO } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import type { BodyShare } from "../../platform/limits/body-bytes.ts";
import { callerOf, fromElsewhere, isAnonymous, wrongAdminToken } from "./admit.ts";
import type { Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";

/** An account without credit may send bodies up to this size: some actions are free. */
const FREE_BYTES_MAX = 64 * 1024;

/** Null: the account has credit. */
export async function withoutCredit(accountId: string, { ledger }: ServeDeps): Promise<GatewayError | null> {
  const account = await ledger.account(accountId);
  if (account === null) return null;
  const free = minus(minus(account.grantedNano, account.spentNano), account.heldNano);
  if (free > ZERO) return null;
  const detail = { needed_usd: "an unknown number of", free_usd: usdText(free) };
  return new GatewayError("insufficient_balance", { detail, data: { free_usd: usdText(free) } });
}

function wantsCredit(endpoint: EndpointShape): boolean {
  return "plan" in endpoint || endpoint.longWithCredit === true;
}

/** Screens a long body that was read before its sender was known, with the memory that its socket has reserved for it. */
export function screenLongBody(call: Call, deps: ServeDeps): Promise<void> | void {
  const { caller, endpoint } = call;
  const { body, memory, isScreened } = call.request;
  const isLong = body.length + (memory?.bytes ?? 0) > FREE_BYTES_MAX && isScreened !== true;
  if (caller !== null && isLong && wantsCredit(endpoint)) return wantCredit(call, caller, deps);
}

/** Accepts megabytes only from callers who could pay for the call. */
export function screenUpload(call: Call, deps: ServeDeps): Promise<void> | void {
  const { caller, endpoint } = call;
  if (endpoint.upload !== true) return;
  if (caller === null) call.refuse(new GatewayError("invalid_token", { detail: "This call needs a key." }));
  if (caller.frozen) call.refuse(new GatewayError("account_frozen"));
  if (caller.paused) call.refuse(new GatewayError("key_paused"));
  return wantCredit(call, caller, deps);
}

async function wantCredit(call: Call, { payer }: Caller, deps: ServeDeps): Promise<void> {
  const unpaid = await withoutCredit(payer.accountId, deps);
  if (unpaid !== null) call.refuse(unpaid);
}

/** Null: the body may be read, and its announced length is reserved from `share`. Counts nothing against a window yet. */
export async function screen(
  request: GatewayRequest,
  endpoint: EndpointShape,
  { share, announced }: { readonly share: BodyShare; readonly announced: number | null },
  deps: ServeDeps,
): Promise<GatewayError | null> {
  const authorization = request.headers.get("authorization");
  const room = (): GatewayError | null => share.grow(announced ?? 0);
  if (endpoint.auth === "none" || isAnonymous(endpoint, request.headers, deps)) return room();
  if (endpoint.auth === "admin") return deps.isAdmin(authorization) ? room() : wrongAdminToken();
  const caller = await callerOf(request, endpoint, deps);
  if (caller instanceof GatewayError) return caller;
  const elsewhere = fromElsewhere(caller, request);
  if (elsewhere !== null) return elsewhere;
  const { accountId } = caller.payer;
  const isLong = announced === null || announced > FREE_BYTES_MAX;
  const unpaid = isLong && wantsCredit(endpoint) ? await withoutCredit(accountId, deps) : null;
  return unpaid ?? share.belongTo(accountId) ?? room();
}

// Whether the sender of a long body may go on, asked before the body is read: a sender who cannot pay for it does not get to fill memory.
import type { EndpointShape, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { minus, usdText, ZERO } from "../../core/money.ts";
import type { BodyShare } from "../../platform/limits/body-bytes.ts";
import { callerOf, fromElsewhere, isStranger, wrongAdminToken } from "./admit.ts";
import type { ServeDeps } from "./deps.ts";

/** A body up to this size is taken of an account without credit too: some actions are free. */
const FREE_BYTES_MAX = 64 * 1024;

/** Null: the account has something to pay with. */
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

/** Whether a body is long, with what its socket has kept for it, that was there before it was known whether its sender is good for it. */
export function isLong({ body, isScreened, memory }: GatewayRequest): boolean {
  return body.length + (memory?.bytes ?? 0) > FREE_BYTES_MAX && isScreened !== true;
}

/** Null: such a body may be parsed. */
export function screenLate(endpoint: EndpointShape, accountId: string, deps: ServeDeps): Promise<GatewayError | null> {
  return wantsCredit(endpoint) ? withoutCredit(accountId, deps) : Promise.resolve(null);
}

/** Null: the body may be read, and all of it that was announced is taken of `share`. Nothing is counted against a window yet. */
export async function screen(
  request: GatewayRequest,
  endpoint: EndpointShape,
  { share, announced }: { readonly share: BodyShare; readonly announced: number | null },
  deps: ServeDeps,
): Promise<GatewayError | null> {
  const authorization = request.headers.get("authorization");
  const room = (): GatewayError | null => share.grow(announced ?? 0);
  if (endpoint.auth === "none" || isStranger(endpoint, request.headers, deps)) return room();
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

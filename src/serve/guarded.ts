// Has the operator's guard look at a planned request, where there is one: once it is known that its caller could pay, before anything is held.
import type { FramedOpenPlan, GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { readJson } from "../json-bytes.ts";
import { ZERO } from "../money.ts";
import type { Caller } from "../plan.ts";
import type { Guard } from "../upstream/guard.ts";
import type { ServeDeps } from "./deps.ts";
import { payingFor } from "./pay.ts";
import { withoutCredit } from "./screen.ts";

type Planned = FramedOpenPlan | GatewayError;

/** What has been planned, and who asks for it. */
export interface Guarding {
  readonly request: GatewayRequest;
  readonly caller: Caller | null;
  readonly framed: FramedOpenPlan;
}

/**
 * The plan to go on with: the same, or a new one where the guard has given back another body. What costs nothing is not shown to it, nor
 * what is refused in any case, so that no flood of such requests reaches it.
 */
export async function guarded(
  { request, caller, framed }: Guarding,
  guard: Guard,
  plan: () => Planned | Promise<Planned>,
  deps: ServeDeps,
): Promise<Planned> {
  const { quote } = framed.plan;
  const read = quote.nano === ZERO ? null : readJson(request.body);
  if (read === null || "wrong" in read) return framed;
  const { accountId = null, keyId = null } = caller?.payer ?? {};
  const unpaid = await unpayable({ request, caller, framed }, deps);
  const asked = { requestId: request.id, path: request.path, accountId, keyId, body: read.json };
  const verdict = unpaid ?? (await guard(asked, caller?.inFlightMax ?? null));
  if (!(verdict instanceof GatewayError) && verdict.body === undefined) return framed;
  framed.ended?.();
  if (verdict instanceof GatewayError) return verdict;
  request.body = Buffer.from(JSON.stringify(verdict.body));
  return plan();
}

/** Why it is refused whatever the guard says; null: it may be paid for, as far as is known before the hold. */
async function unpayable({ request, caller, framed }: Guarding, deps: ServeDeps): Promise<GatewayError | null> {
  const paying = await payingFor(framed.plan, { request, caller, onWindow: () => {} }, deps);
  if (paying instanceof GatewayError) return paying;
  return caller === null ? null : withoutCredit(caller.payer.accountId, deps);
}

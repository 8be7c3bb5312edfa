// Has the operator's guard look at a planned request, where there is one: once it is known that its caller could pay, before anything is
// held. And at its whole answer, where the operator wants that: before anything is kept of it or charged.
import type { FramedOpenPlan, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { readJson } from "../../core/json-bytes.ts";
import { ZERO } from "../../core/money.ts";
import type { Caller, Payer, Plan } from "../../core/plan.ts";
import { jsonText, parseRaw } from "../../core/raw-json.ts";
import type { FinalPart } from "../../core/route.ts";
import type { Guard, Guarded } from "../../upstream/guard.ts";
import type { ServeDeps } from "./deps.ts";
import { payingFor } from "./pay.ts";
import { withoutCredit } from "./screen.ts";

type Planned = FramedOpenPlan | GatewayError;

/** What has been planned, and who asks for it. */
export interface Guarding {
  readonly request: GatewayRequest;
  readonly caller: Caller | null;
  readonly sandbox: boolean;
  readonly framed: FramedOpenPlan;
}

type Whose = Omit<Guarded, "stage" | "body">;

function whose({ request, caller, sandbox }: Omit<Guarding, "framed">): Whose {
  const { accountId = null, keyId = null } = caller?.payer ?? {};
  return { requestId: request.id, path: request.path, sandbox, accountId, keyId };
}

/**
 * The plan to go on with: the same, or a new one where the guard has given back another body. What costs nothing is not shown to it, nor
 * what is refused in any case, so that no flood of such requests reaches it.
 */
export async function guarded(
  guarding: Guarding,
  guard: Guard,
  plan: () => Planned | Promise<Planned>,
  deps: ServeDeps,
): Promise<Planned> {
  const { request, caller, framed } = guarding;
  const read = framed.plan.quote.nano === ZERO ? null : readJson(request.body, parseRaw);
  if (read === null || "wrong" in read) return framed;
  const unpaid = await unpayable(guarding, deps);
  const asked = { ...whose(guarding), stage: "request", body: read.json } as const;
  const verdict = unpaid ?? (await guard(asked, caller?.inFlightMax ?? null));
  if (!(verdict instanceof GatewayError) && verdict.body === undefined) return framed;
  framed.ended?.();
  if (verdict instanceof GatewayError) return verdict;
  request.body = Buffer.from(jsonText(verdict.body, read.json));
  return plan();
}

/** Why it is refused whatever the guard says; null: it may be paid for, as far as is known before the hold. */
async function unpayable({ request, caller, framed }: Guarding, deps: ServeDeps): Promise<GatewayError | null> {
  const paying = await payingFor(framed.plan, { request, caller, onWindow: () => {} }, deps);
  if (paying instanceof GatewayError) return paying;
  return caller === null ? null : withoutCredit(caller.payer.accountId, deps);
}

/** The plan whose whole answer the guard looks at. */
export function withGuardedAnswer(guarding: Guarding, guard: Guard): FramedOpenPlan {
  const { framed } = guarding;
  const { plan } = framed;
  const about = whose(guarding);
  const screened = (owned: Plan): Plan =>
    isShown(owned) ? { ...owned, screen: (final) => screen(final, about, guard) } : owned;
  if (!("forPayer" in plan)) return { ...framed, plan: screened(plan) };
  const forPayer = async (payer: Payer): Promise<Plan | GatewayError> => {
    const owned = await plan.forPayer(payer);
    return owned instanceof GatewayError ? owned : screened(owned);
  };
  return { ...framed, plan: { ...plan, forPayer } };
}

/** What a write has done stays done, and what a launch answers with is an id: there is nothing to keep back. A model only tells of it. */
function isShown({ streamed, hold, effect, inference, quote }: Plan): boolean {
  return !streamed && hold.kind === "call" && quote.nano !== ZERO && (effect === "read" || inference);
}

async function screen(final: FinalPart, about: Whose, guard: Guard): Promise<FinalPart | GatewayError> {
  if (final.kind === "stream") return final;
  const { json } = final.body;
  const isText = typeof json === "string";
  // A file stands behind it, which is linked and not told.
  if (json === "") return final;
  const shown: unknown = isText ? parseRaw(json) : final.body;
  const verdict = await guard({ ...about, stage: "answer", body: shown }, null);
  if (verdict instanceof GatewayError) return verdict;
  if (verdict.body === undefined) return final;
  const { body } = verdict;
  return { kind: "body", body: isText ? { json: jsonText(body, shown) } : (body as Record<string, unknown>) };
}

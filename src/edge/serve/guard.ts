// Passes planned requests to the operator's guard, once the caller is known to be able to pay and before anything is held; and whole
// answers before they are stored or charged.
import { GatewayError } from "../../core/errors.ts";
import { readJson } from "../../core/json-bytes.ts";
import { ZERO } from "../../core/money.ts";
import type { Payer, Plan } from "../../core/plan.ts";
import { jsonText, parseRaw } from "../../core/raw-json.ts";
import type { FinalPart } from "../../core/route.ts";
import type { Guard, Guarded } from "../../upstream/guard.ts";
import type { Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";
import { payingFor } from "./pay.ts";
import { withoutCredit } from "./screen.ts";

type About = Omit<Guarded, "stage" | "body">;

function aboutOf({ request, caller, audience }: Call): About {
  const { accountId = null, keyId = null } = caller?.payer ?? {};
  return { requestId: request.id, path: request.path, sandbox: audience.sandbox, accountId, keyId };
}

/** Uploads are streamed through, so there is no body to check yet. */
export function guard(call: Call, deps: ServeDeps): Promise<void> | void {
  if (deps.guard !== undefined && call.endpoint.upload !== true) return showRequest(call, deps.guard, deps);
}

/** Plans again where the guard replaced the body. It sees neither free requests nor those that are refused anyway. */
async function showRequest(call: Call, guard: Guard, deps: ServeDeps): Promise<void> {
  const { request, caller, framed } = call;
  if (framed === null || framed.plan.quote.nano === ZERO) return;
  const read = readJson(request.body, parseRaw);
  if ("wrong" in read) return;
  const asked = { ...aboutOf(call), stage: "request", body: read.json } as const;
  const verdict = (await unpayable(call, deps)) ?? (await guard(asked, caller?.inFlightMax ?? null));
  if (!(verdict instanceof GatewayError) && verdict.body === undefined) return;
  call.framed = null;
  framed.ended?.();
  const { body } = call.orRefuse(verdict);
  request.body = Buffer.from(jsonText(body, read.json));
  await call.plan();
}

/** Why the request is refused whatever the guard says; null: as far as known before the hold, the caller can pay. */
async function unpayable(call: Call, deps: ServeDeps): Promise<GatewayError | null> {
  const paying = await payingFor(call, deps);
  if (paying instanceof GatewayError) return paying;
  return call.caller === null || deps.paying !== undefined ? null : withoutCredit(call.caller.payer.accountId, deps);
}

export function guardAnswer(call: Call, { answerGuard }: ServeDeps): void {
  const { framed } = call;
  if (framed === null || answerGuard === undefined) return;
  const { plan } = framed;
  const about = aboutOf(call);
  const screened = (owned: Plan): Plan =>
    isShown(owned) ? { ...owned, screen: (final) => screen(final, about, answerGuard) } : owned;
  if (!("forPayer" in plan)) {
    call.framed = { ...framed, plan: screened(plan) };
    return;
  }
  const forPayer = async (payer: Payer) => screened(await plan.forPayer(payer));
  call.framed = { ...framed, plan: { ...plan, forPayer } };
}

/** A write cannot be undone and a launch answers with an id, so there is nothing to hold back. A model's answer only reports a write. */
function isShown({ streamed, hold, effect, inference, quote }: Plan): boolean {
  return !streamed && hold.kind === "call" && quote.nano !== ZERO && (effect === "read" || inference);
}

async function screen(final: FinalPart, about: About, guard: Guard): Promise<FinalPart | GatewayError> {
  if (final.kind === "stream") return final;
  const { json } = final.body;
  const isText = typeof json === "string";
  // The answer is a link to a file.
  if (json === "") return final;
  const shown: unknown = isText ? parseRaw(json) : final.body;
  const verdict = await guard({ ...about, stage: "answer", body: shown }, null);
  if (verdict instanceof GatewayError) return verdict;
  if (verdict.body === undefined) return final;
  const { body } = verdict;
  return { kind: "body", body: isText ? { json: jsonText(body, shown) } : (body as Record<string, unknown>) };
}

// Arguments of the scripts that place and grow holds, and the meaning of their flat replies.
import type { CeilingPeriod } from "../../../core/account-rows.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import { type Nano, nano } from "../../../core/money.ts";
import type { ExtendOutcome, HoldState, PostOutcome, ReserveOutcome, ReserveRequest } from "../model/ledger.ts";
import { countsOf, windowsText } from "../model/window-list.ts";
import type { AccountIndex } from "./account-index.ts";
import { accountKey } from "./rows.ts";
import type { RunTransition, TransitionTime } from "./script.ts";

type Short = Extract<
  ReserveOutcome,
  { readonly outcome: "ceiling" | "inference_cap" | "insufficient" | "window_full" }
>;

/** The refusals for lack of money; null for any other reply. */
function short(reply: readonly string[]): Short | null {
  const [outcome] = reply;
  const number = (at: number) => nano(Number(reply[at]));
  const sums = (at: number) => {
    const [spentNano, heldNano, absorbedNano] = [number(at), number(at + 1), number(at + 2)];
    return { spentNano, heldNano, absorbedNano, resetsAtMs: Number(reply[at + 3]) };
  };
  if (outcome === "ceiling") return { outcome, period: reply[1] as CeilingPeriod, ceilingNano: number(2), ...sums(3) };
  if (outcome === "inference_cap") return { outcome, capNano: number(1), ...sums(2) };
  if (outcome === "window_full") {
    const [, scope = "", code] = reply;
    return { outcome, scope, counts: countsOf(scope), code: code as ErrorCode, maxNano: number(3), ...sums(4) };
  }
  if (outcome !== "insufficient") return null;
  return { outcome, freeNano: number(1), heldNano: number(2), balanceNano: number(3) };
}

/** The name of an idempotency key's record; empty where the call has none. */
export function idempotencyId(request: Pick<ReserveRequest, "keyId" | "idempotency">): string {
  if (request.idempotency === null) return "";
  return JSON.stringify([request.keyId, request.idempotency.key]);
}

/** A hold's JSON line: what the scripts do not read, and at its end the windows, which they do. */
export function metaText(request: Pick<ReserveRequest, "parentId" | "requestId" | "operation" | "asked" | "windows">) {
  const { parentId, requestId, operation, asked } = request;
  const windows = windowsText(request.windows) || undefined;
  return JSON.stringify({ parentId, requestId, operation, asked, windows });
}

/** What the hold's runs have left; empty or missing where it is in none. */
function runLeft(text: string | undefined): { readonly runLeftNano?: Nano } {
  return text ? { runLeftNano: nano(Number(text)) } : {};
}

export async function reserveOutcome(
  run: RunTransition,
  time: TransitionTime,
  index: AccountIndex,
  request: ReserveRequest,
): Promise<ReserveOutcome> {
  const { accountId, holdId, keyId, amountNano, leaseMs, inference, idempotency, effect, onExpire } = request;
  const [, leapt, given] = time.args;
  const noting = index.note(accountId, leaseMs);
  if (noting !== null) await noting;
  const asked = {
    hold_id: holdId,
    key_id: keyId,
    amount: amountNano,
    lease_ms: leaseMs,
    inference: inference ? "1" : "0",
    meta: metaText(request),
    idempotency: idempotencyId(request),
    fingerprint: idempotency?.fingerprint ?? "",
    keep_ms: idempotency?.keepMs ?? "",
    window_limit: request.window?.limit ?? "",
    window_seconds: request.window?.seconds ?? "",
    effect,
    on_expire: onExpire,
  };
  const slots = request.slots.flatMap(({ scope, max, code }) => [scope, max, code]);
  const reply = await run("reserve", accountKey(accountId), asked, {
    time: [Math.floor(request.nowMs), leapt, given],
    rest: slots,
  });
  const [outcome = "", second = "", third = ""] = reply;
  const money = short(reply);
  if (money !== null) return money;
  switch (outcome) {
    case "held":
      return {
        outcome,
        ...(second === "" ? {} : { window: { remaining: Number(second), resetSeconds: Number(third) } }),
        ...runLeft(reply[3]),
      };
    case "exists":
      return { outcome, state: second as HoldState };
    case "slots":
      return { outcome, code: second as ErrorCode, max: Number(third) };
    case "window":
      return { outcome, limit: Number(second), resetSeconds: Number(third) };
    case "idempotency_in_progress":
    case "idempotency_done":
    case "idempotency_unknown":
      return { outcome, holdId: second };
    default:
      return { outcome } as ReserveOutcome;
  }
}

/** What the reply to `extend` means. */
export function extendOutcome(reply: readonly string[]): ExtendOutcome {
  const [outcome, second] = reply;
  if (outcome === "extended") return { outcome, amountNano: nano(Number(second)) };
  if (outcome === "gone") return { outcome, state: second as HoldState | "missing" };
  return short(reply) ?? { outcome: outcome as "unknown_key" | "frozen" | "paused" };
}

export function postOutcome(reply: readonly string[]): PostOutcome {
  const [outcome, repeat, charged, cents, absorbed, balance, strict, marked, left] = reply;
  if (outcome !== "posted") return { outcome: outcome as "missing" | "voided" | "expired" };
  const posted = {
    outcome,
    repeat: repeat === "1",
    chargedNano: nano(Number(charged)),
    chargedCents: Number(cents),
    absorbedNano: nano(Number(absorbed)),
    balanceNano: nano(Number(balance)),
    ...runLeft(left),
    ...(marked === "1" ? { marked: true as const } : {}),
  } as const;
  return strict === "1" ? { ...posted, strict: true } : posted;
}

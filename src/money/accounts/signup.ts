// Public sign-up: welcome credit within a daily budget, and few accounts per address.
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { least, minus, type Nano, nano, nanoFromCents, ZERO } from "../../core/money.ts";
import type { Records } from "../../platform/records/records.ts";
import { takeFrom } from "../../platform/records/shared-window.ts";
import { nameSchema, type OpeningIds, type OpeningParts, openAccount, WELCOME_CENTS } from "./open-account.ts";
import { readBody } from "./read-body.ts";

const BODY_BYTES_MAX = 4 * 1024;
const KIND = "signup-credit";
/** Longer than the counted day, in case the clock is set back. */
const KEEP_MS = 3 * 86_400_000;
const ADDRESS = "signup-address";
const HOUR_SECONDS = 3_600;
const HOUR_MS = HOUR_SECONDS * 1_000;

const signupSchema = z.strictObject({
  name: nameSchema.default("signup"),
  // The credit of business accounts would make it worth opening hundreds of them.
  kind: z
    .literal("personal", "must be personal: accounts of another kind are opened by the operator")
    .default("personal"),
});

export interface SignupParts extends OpeningParts {
  readonly counts: Pick<Records, "get" | "put">;
  readonly clock: Clock;
  /** The most welcome credit of all sign-ups on a UTC day. */
  readonly creditPerDay: Nano;
  /** Sign-ups from one address per hour. */
  readonly perAddress: number;
  readonly addressKey: (address: string) => string;
}

/** Counts a sign-up of an address. Rejects where the address has reached its hourly limit. */
async function takeAddress(
  { counts, clock, perAddress: limit, addressKey }: SignupParts,
  address: string,
): Promise<void> {
  const nowMs = clock.epochMs();
  const hour = Math.floor(nowMs / HOUR_MS);
  const record = { kind: ADDRESS, id: `${hour} ${addressKey(address)}`, ttlMs: 2 * HOUR_MS };
  if ((await takeFrom(counts, record, (taken) => (taken < limit ? 1 : 0))) === 1) return;
  const resetSeconds = Math.max(1, Math.ceil(((hour + 1) * HOUR_MS - nowMs) / 1_000));
  throw new GatewayError("rate_limited", {
    detail: { limit, window_seconds: HOUR_SECONDS },
    retryAfterSeconds: resetSeconds,
    window: { limit, windowSeconds: HOUR_SECONDS, resetSeconds },
  });
}

/** Why an account starts with less credit than usual; null: it has all of it. */
function creditNote(credit: Nano, { creditPerDay }: SignupParts): string | null {
  if (credit === nanoFromCents(WELCOME_CENTS.personal)) return null;
  if (creditPerDay === ZERO) return "This gateway gives no welcome credit. Ask its operator for credit.";
  const given = credit === ZERO ? "all of today's" : "almost all of today's";
  return `New accounts have had ${given} welcome credit (a day ends at midnight UTC). Ask the operator for credit.`;
}

/** From the day's budget, or what is left of it. Before the account is opened: credit can be lost, but not given twice. */
async function takeCredit({ counts, clock, creditPerDay }: SignupParts): Promise<Nano> {
  const id = new Date(clock.epochMs()).toISOString().slice(0, 10);
  const credit = (given: number) => least(nanoFromCents(WELCOME_CENTS.personal), minus(creditPerDay, nano(given)));
  return nano(await takeFrom(counts, { kind: KIND, id, ttlMs: KEEP_MS }, credit));
}

/** Opens an account within the limits of sign-ups. Rejects where its address has reached its limit. */
export async function signUp(
  parts: SignupParts,
  address: string,
  named: { readonly name: string; readonly kind: "personal" },
  ids?: OpeningIds,
) {
  await takeAddress(parts, address);
  const creditNano = await takeCredit(parts);
  const note = creditNote(creditNano, parts);
  const opened = await openAccount(parts, { ...named, creditNano }, ids);
  return note === null ? opened : { ...opened, body: { ...opened.body, note } };
}

export function signupEndpoint(parts: SignupParts): EndpointSpec {
  return {
    method: "POST",
    path: "/api/v1/signup",
    auth: "none",
    bodyBytesMax: BODY_BYTES_MAX,
    answer: async ({ request }) => signUp(parts, request.address, readBody(signupSchema, request.body)),
  };
}

// Accounts that people open themselves: welcome credit within the day's sum, few for each address.
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { least, minus, type Nano, nano, nanoFromCents, ZERO } from "../../core/money.ts";
import { nameSchema, type OpeningIds, type OpeningParts, openAccount, WELCOME_CENTS } from "./open-account.ts";
import { readBody } from "./read-body.ts";

const BODY_BYTES_MAX = 4 * 1024;
const KIND = "signup-credit";
/** Longer than the day that is counted, should the clock be set back. */
const KEEP_MS = 3 * 86_400_000;
const ADDRESS = "signup-address";
const HOUR_SECONDS = 3_600;
const HOUR_MS = HOUR_SECONDS * 1_000;

const signupSchema = z.strictObject({
  name: nameSchema.default("signup"),
  // Business accounts begin with enough credit to be worth opening by the hundred.
  kind: z
    .literal("personal", "must be personal: accounts of another kind are opened by the operator")
    .default("personal"),
});

/** What signing up needs of the records, which all processes share. The records themselves fit this shape and are handed in. */
export interface SignupCounts {
  get(kind: string, id: string): Promise<{ readonly version: number; readonly value: string } | null>;
  /** Null: the stored version is another than `ifVersion`. */
  put(record: {
    readonly kind: string;
    readonly id: string;
    readonly payer: null;
    readonly value: string;
    readonly ttlMs: number;
    readonly ifVersion: number;
  }): Promise<number | null>;
}

export interface SignupParts extends OpeningParts {
  readonly counts: SignupCounts;
  readonly clock: Clock;
  /** The most welcome credit of all signups of a UTC day. */
  readonly creditPerDay: Nano;
  /** Signups from one address in an hour. */
  readonly perAddress: number;
  /** What an address is counted under. */
  readonly addressKey: (address: string) => string;
}

/** Counts a signup of an address. Rejects where the address has none left in this hour. */
async function takeAddress(parts: SignupParts, address: string): Promise<void> {
  const { counts, clock, perAddress: limit, addressKey } = parts;
  const nowMs = clock.epochMs();
  const hour = Math.floor(nowMs / HOUR_MS);
  const id = `${hour} ${addressKey(address)}`;
  for (;;) {
    const kept = await counts.get(ADDRESS, id);
    const taken = Number(kept?.value ?? 0);
    if (taken >= limit) {
      const resetSeconds = Math.max(1, Math.ceil(((hour + 1) * HOUR_MS - nowMs) / 1_000));
      throw new GatewayError("rate_limited", {
        detail: { limit, window_seconds: HOUR_SECONDS },
        retryAfterSeconds: resetSeconds,
        window: { limit, windowSeconds: HOUR_SECONDS, resetSeconds },
      });
    }
    const record = { kind: ADDRESS, id, payer: null, value: String(taken + 1), ttlMs: 2 * HOUR_MS };
    // As with the day's credit: of those who come at once one gets on each time.
    if ((await counts.put({ ...record, ifVersion: kept?.version ?? 0 })) !== null) return;
  }
}

/** Why an account begins with less than others do; null: it has all of it. */
function creditNote(credit: Nano, { creditPerDay }: SignupParts): string | null {
  if (credit === nanoFromCents(WELCOME_CENTS.personal)) return null;
  if (creditPerDay === ZERO) return "This gateway gives no welcome credit. Ask its operator for credit.";
  const given = credit === ZERO ? "all of today's" : "almost all of today's";
  return `New accounts have had ${given} welcome credit (a day ends at midnight UTC). Ask the operator for credit.`;
}

/**
 * Takes welcome credit out of the day's sum: all of it, or what is left. It is taken before the account is opened, so what
 * breaks in between is lost to the day and never given twice.
 */
async function takeCredit({ counts, clock, creditPerDay }: SignupParts): Promise<Nano> {
  const id = new Date(clock.epochMs()).toISOString().slice(0, 10);
  for (;;) {
    const kept = await counts.get(KIND, id);
    const given = nano(Number(kept?.value ?? 0));
    const credit = least(nanoFromCents(WELCOME_CENTS.personal), minus(creditPerDay, given));
    if (credit === ZERO) return ZERO;
    const record = { kind: KIND, id, payer: null, value: String(given + credit), ttlMs: KEEP_MS };
    // Another signup came in between: look again. Each time one of them gets on, so this ends.
    if ((await counts.put({ ...record, ifVersion: kept?.version ?? 0 })) !== null) return credit;
  }
}

/** Opens an account within the bounds of all signups. Rejects where its address has none left. */
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

/** `POST /api/v1/signup`. */
export function signupEndpoint(parts: SignupParts): EndpointSpec {
  return {
    method: "POST",
    path: "/api/v1/signup",
    auth: "none",
    bodyBytesMax: BODY_BYTES_MAX,
    answer: async ({ request }) => signUp(parts, request.address, readBody(signupSchema, request.body)),
  };
}

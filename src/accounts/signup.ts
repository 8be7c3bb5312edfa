// Accounts that people open themselves: welcome credit within the day's sum, few for each address.
import { z } from "zod";
import type { Clock } from "../clock.ts";
import type { EndpointSpec } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { least, minus, type Nano, nano, nanoFromCents, ZERO } from "../money.ts";
import { nameSchema, type OpeningParts, openAccount, WELCOME_CENTS } from "./open-account.ts";
import { readBody } from "./read-body.ts";

const BODY_BYTES_MAX = 4 * 1024;
const KIND = "signup-credit";
/** Longer than the day that is counted, should the clock be set back. */
const KEEP_MS = 3 * 86_400_000;

const signupSchema = z.strictObject({
  name: nameSchema.default("signup"),
  // Business accounts begin with enough credit to be worth opening by the hundred.
  kind: z
    .literal("personal", "must be personal: accounts of another kind are opened by the operator")
    .default("personal"),
});

/** What signing up needs of the records. The records themselves fit this shape and are handed in. */
export interface DayCounts {
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
  readonly counts: DayCounts;
  readonly clock: Clock;
  /** The most welcome credit of all signups of a UTC day. */
  readonly creditPerDay: Nano;
  /** Counts a signup of an address. */
  readonly takeAddress: (address: string) => {
    readonly allowed: boolean;
    readonly limit: number;
    readonly windowSeconds: number;
    readonly resetSeconds: number;
  };
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

/** `POST /api/v1/signup`. */
export function signupEndpoint(parts: SignupParts): EndpointSpec {
  return {
    method: "POST",
    path: "/api/v1/signup",
    auth: "none",
    bodyBytesMax: BODY_BYTES_MAX,
    async answer({ request }) {
      const body = readBody(signupSchema, request.body);
      if (body instanceof GatewayError) return body;
      const { allowed, limit, windowSeconds, resetSeconds } = parts.takeAddress(request.address);
      if (!allowed) {
        const detail = { limit, window_seconds: windowSeconds };
        return new GatewayError("rate_limited", { detail, retryAfterSeconds: resetSeconds });
      }
      return openAccount(parts, { ...body, creditNano: await takeCredit(parts) });
    },
  };
}

// Who looks at payments and makes them on chain: a server with the facilitator's interface of x402, asked over HTTP.

import { z } from "zod";
import { wholeWithin } from "../../core/pieces.ts";
import { atOnce } from "./at-once.ts";
import { isBroken } from "./broken-connection.ts";
import type { Payment } from "./read-payment.ts";

const VERIFY_MS_MAX = 10_000;
/** For its turn: behind a facilitator that does not answer, a caller is told so by then. */
const VERIFY_TURN_MS_MAX = 15_000;
const SETTLE_TURN_MS_MAX = 30_000;
const SETTLE_MS_MAX = 30_000;
/** Of looking, and of making, which waits for a block. */
const VERIFIES_AT_ONCE_MAX = 32;
const SETTLES_AT_ONCE_MAX = 64;
const ANSWER_CHARACTERS_MAX = 65_536;
/** Its words go to callers: a code, and nothing of its innards. */
const REASON = /^[a-z0-9_]{1,80}$/;

/** `away`: it could not be asked. */
export type Verdict = { readonly valid: true } | { readonly valid: false; readonly reason: string } | "away";

/** `unknown`: it may have been made, and may be made yet. */
export type Settlement =
  /** `inBlock`: a node of the chain has shown it, and need not be asked again. */
  | { readonly settled: true; readonly transaction: string; readonly inBlock?: true }
  /** `mayBe`: it names a transaction all the same. */
  | { readonly settled: false; readonly reason: string; readonly mayBe: boolean }
  | "unknown";

export interface Facilitator {
  verify(payment: Payment, asked: unknown): Promise<Verdict>;
  settle(payment: Payment, asked: unknown): Promise<Settlement>;
}

/** Where this process can make no payment. */
export const NO_FACILITATOR: Facilitator = { verify: async () => "away", settle: async () => "unknown" };

const verified = z.object({ isValid: z.boolean(), invalidReason: z.string().nullish(), payer: z.string().nullish() });
const settled = z.object({
  success: z.boolean(),
  transaction: z.string().nullish(),
  errorReason: z.string().nullish(),
});

function reasonOf(reason: string | null | undefined): string {
  return reason !== null && reason !== undefined && REASON.test(reason) ? reason : "refused";
}

/** Its answers are waited for that long, in milliseconds. */
export interface FacilitatorBounds {
  readonly verifyMsMax?: number;
  /** How it is reached. Default: directly. */
  readonly fetchOut?: typeof fetch;
}

export function httpFacilitator(url: string, bounds: FacilitatorBounds = {}): Facilitator {
  const { verifyMsMax = VERIFY_MS_MAX, fetchOut = fetch } = bounds;
  const base = url.endsWith("/") ? url.slice(0, -1) : url;
  const verifyInTurn = atOnce(VERIFIES_AT_ONCE_MAX, VERIFY_TURN_MS_MAX);
  const settleInTurn = atOnce(SETTLES_AT_ONCE_MAX, SETTLE_TURN_MS_MAX);

  /** Null: it did not answer, or not with what it should; `broken`: the connection ended before it had. */
  async function ask<T>(path: string, payment: Payment, asked: unknown, schema: z.ZodType<T>, msMax: number) {
    try {
      const response = await fetchOut(`${base}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          x402Version: payment.version,
          paymentPayload: payment.sent,
          paymentRequirements: asked,
        }),
        redirect: "error",
        signal: AbortSignal.timeout(msMax),
      });
      const text = await textOf(response);
      return response.ok && text !== null ? (schema.safeParse(JSON.parse(text)).data ?? null) : null;
    } catch (error) {
      return isBroken(error) ? "broken" : null;
    }
  }
  const look = (payment: Payment, asked: unknown) => ask("/verify", payment, asked, verified, verifyMsMax);
  const make = (payment: Payment, asked: unknown) => ask("/settle", payment, asked, settled, SETTLE_MS_MAX);

  return {
    async verify(payment, asked) {
      const answer = await verifyInTurn(async () => {
        const first = await look(payment, asked);
        return first === "broken" ? look(payment, asked) : first;
      }).catch(() => null);
      if (answer === null || answer === "broken") return "away";
      // Whom it names must be whom the authorization names.
      const isOther =
        answer.payer !== null && answer.payer !== undefined && answer.payer.toLowerCase() !== payment.from;
      if (answer.isValid && !isOther) return { valid: true };
      return { valid: false, reason: isOther ? "payer_mismatch" : reasonOf(answer.invalidReason) };
    },
    async settle(payment, asked) {
      let isAgain = false;
      const answer = await settleInTurn(async () => {
        const first = await make(payment, asked);
        if (first !== "broken") return first;
        isAgain = true;
        return make(payment, asked);
      }).catch(() => null);
      if (answer === null || answer === "broken" || (!answer.success && answer.errorReason === "settlement_pending"))
        return "unknown";
      const { transaction } = answer;
      // What is refused the second time may have been made the first.
      if (!answer.success && isAgain) return "unknown";
      if (!answer.success) return { settled: false, reason: reasonOf(answer.errorReason), mayBe: Boolean(transaction) };
      // A success without a transfer is none.
      return transaction && /^0x[0-9a-fA-F]{64}$/.test(transaction) ? { settled: true, transaction } : "unknown";
    },
  };
}

async function textOf({ body }: Response): Promise<string | null> {
  const whole = body === null ? null : await wholeWithin(body, ANSWER_CHARACTERS_MAX);
  return body === null ? "" : (whole?.toString("utf8") ?? null);
}

// Verifies payments and settles them on chain, through a server with the x402 facilitator interface over HTTP.
import { z } from "zod";
import { wholeWithin } from "../../core/chunk-list.ts";
import { Places } from "../../core/places.ts";
import { isBroken } from "../../money/wallet/node-rpc.ts";
import type { Payment } from "./read-payment.ts";

const VERIFY_MS_MAX = 10_000;
/** The longest wait in the queue: with an unresponsive facilitator, callers get an error after this time. */
const VERIFY_TURN_MS_MAX = 15_000;
const SETTLE_TURN_MS_MAX = 30_000;
const SETTLE_MS_MAX = 30_000;
/** Settling waits for a block, so more settlements than verifications may run concurrently. */
const VERIFIES_AT_ONCE_MAX = 32;
const SETTLES_AT_ONCE_MAX = 64;
const ANSWER_CHARACTERS_MAX = 65_536;
/** Only codes of this form reach callers. */
const REASON = /^[a-z0-9_]{1,80}$/;

/** `away`: the facilitator could not be reached. */
export type Verdict = { readonly valid: true } | { readonly valid: false; readonly reason: string } | "away";

/** `unknown`: the payment may have been made, or may be made later. */
export type Settlement =
  /** `inBlock`: a node has confirmed it, so no other check is needed. */
  | { readonly settled: true; readonly transaction: string; readonly inBlock?: true }
  /** `mayBe`: the answer names a transaction nevertheless. */
  | { readonly settled: false; readonly reason: string; readonly mayBe: boolean }
  | "unknown";

export interface Facilitator {
  verify(payment: Payment, asked: unknown): Promise<Verdict>;
  settle(payment: Payment, asked: unknown): Promise<Settlement>;
}

export const NO_FACILITATOR: Facilitator = { verify: async () => "away", settle: async () => "unknown" };

const verified = z.object({ isValid: z.boolean(), invalidReason: z.string().nullish(), payer: z.string().nullish() });
const settled = z.object({
  success: z.boolean(),
  transaction: z.string().nullish(),
  errorReason: z.string().nullish(),
});

interface Question<T> {
  readonly path: string;
  readonly schema: z.ZodType<T>;
  readonly msMax: number;
}

function reasonOf(reason: string | null | undefined): string {
  return reason !== null && reason !== undefined && REASON.test(reason) ? reason : "refused";
}

export function httpFacilitator(
  url: string,
  { verifyMsMax = VERIFY_MS_MAX, fetchOut = fetch }: { verifyMsMax?: number; fetchOut?: typeof fetch } = {},
): Facilitator {
  const base = url.endsWith("/") ? url.slice(0, -1) : url;
  const verifying = new Places(VERIFIES_AT_ONCE_MAX);
  const settling = new Places(SETTLES_AT_ONCE_MAX);

  /** Null: no answer or an invalid one; `broken`: the connection ended before an answer. */
  async function askOnce<T>({ path, schema, msMax }: Question<T>, payment: Payment, asked: unknown) {
    try {
      const sent = { x402Version: payment.version, paymentPayload: payment.sent, paymentRequirements: asked };
      const response = await fetchOut(`${base}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(sent),
        redirect: "error",
        signal: AbortSignal.timeout(msMax),
      });
      const text = await textOf(response);
      return response.ok && text !== null ? (schema.safeParse(JSON.parse(text)).data ?? null) : null;
    } catch (error) {
      return isBroken(error) ? ("broken" as const) : null;
    }
  }
  /** Asks once more where the connection broke. */
  async function ask<T>(question: Question<T>, payment: Payment, asked: unknown) {
    const first = await askOnce(question, payment, asked);
    const isAgain = first === "broken";
    return { answer: isAgain ? await askOnce(question, payment, asked) : first, isAgain };
  }
  const noAnswer = () => ({ answer: null, isAgain: false });
  const verification = { path: "/verify", schema: verified, msMax: verifyMsMax };
  const settlement = { path: "/settle", schema: settled, msMax: SETTLE_MS_MAX };

  return {
    async verify(payment, asked) {
      const { answer } = await verifying
        .within(VERIFY_TURN_MS_MAX, () => ask(verification, payment, asked))
        .catch(noAnswer);
      if (answer === null || answer === "broken") return "away";
      // The payer must match the authorization.
      const isOther =
        answer.payer !== null && answer.payer !== undefined && answer.payer.toLowerCase() !== payment.from;
      if (answer.isValid && !isOther) return { valid: true };
      return { valid: false, reason: isOther ? "payer_mismatch" : reasonOf(answer.invalidReason) };
    },
    async settle(payment, asked) {
      const { answer, isAgain } = await settling
        .within(SETTLE_TURN_MS_MAX, () => ask(settlement, payment, asked))
        .catch(noAnswer);
      if (answer === null || answer === "broken" || (!answer.success && answer.errorReason === "settlement_pending"))
        return "unknown";
      const { transaction } = answer;
      // The first attempt may have settled what the second refuses.
      if (!answer.success && isAgain) return "unknown";
      if (!answer.success) return { settled: false, reason: reasonOf(answer.errorReason), mayBe: Boolean(transaction) };
      // A success needs its transaction.
      return transaction && /^0x[0-9a-fA-F]{64}$/.test(transaction) ? { settled: true, transaction } : "unknown";
    },
  };
}

async function textOf({ body }: Response): Promise<string | null> {
  const whole = body === null ? null : await wholeWithin(body, ANSWER_CHARACTERS_MAX);
  return body === null ? "" : (whole?.toString("utf8") ?? null);
}

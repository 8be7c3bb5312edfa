// The operator's guard: a server that sees what callers ask before anything is held or sent, and lets it pass, refuses it, or changes it.

import { z } from "zod";
import { GatewayError } from "../errors.ts";
import { wholeOf } from "../pieces.ts";
import type { PublicFetch } from "./public-fetch.ts";

/** The longest body that it may give back. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
const REASON_LENGTH_MAX = 400;
/** Requests that it is asked of at once: each has its body once more. */
const ASKED_AT_ONCE_MAX = 1_024;

/** What it is told of a request. */
export interface Guarded {
  readonly requestId: string;
  readonly path: string;
  /** Null: a caller without a key. */
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** As it came; what is no JSON is refused without it. */
  readonly body: unknown;
}

/** The body to go on with; undefined: as it was sent. */
export type Verdict = { readonly body: unknown } | { readonly body?: undefined } | GatewayError;

export interface GuardOptions {
  readonly url: string;
  readonly msMax: number;
  /** Whether requests pass while it is away. */
  readonly open: boolean;
  readonly internet: PublicFetch;
  readonly onAway: (error: unknown) => void;
}

const answerSchema = z.discriminatedUnion("action", [
  z.object({ action: z.literal("pass") }),
  z.object({ action: z.literal("refuse"), reason: z.string().default("") }),
  z.object({ action: z.literal("edit"), body: z.record(z.string(), z.unknown()) }),
]);

/**
 * Asks it of one request, of an account at most as many at once as it may have under way; null: of callers without a key, who may have all
 * there is. What is beyond that does not pass, also where the guard is open. Never rejects.
 */
export function createGuard({ url, msMax, open, internet, onAway }: GuardOptions) {
  async function ask(asked: Guarded): Promise<z.output<typeof answerSchema>> {
    const { requestId, path, accountId, keyId, body } = asked;
    const sent = JSON.stringify({ request_id: requestId, path, account_id: accountId, key_id: keyId, body });
    const headers = { "content-type": "application/json", accept: "application/json" };
    const send = { headers, body: sent };
    const answer = await internet.open(url, { bytesMax: ANSWER_BYTES_MAX, msMax, redirectsMax: 0, send });
    if (answer instanceof GatewayError) throw answer;
    const whole = await wholeOf(answer.body);
    if (answer.status !== 200) throw new Error(`the guard answered ${answer.status}`);
    return answerSchema.parse(JSON.parse(whole.toString("utf8")));
  }

  async function judge(asked: Guarded): Promise<Verdict> {
    try {
      const told = await ask(asked);
      if (told.action === "edit") return { body: told.body };
      if (told.action === "pass") return {};
      return new GatewayError("guard_refused", { detail: { detail: told.reason.slice(0, REASON_LENGTH_MAX) } });
    } catch (error) {
      onAway(error);
      return open ? {} : new GatewayError("guard_unavailable", { retryAfterSeconds: 1 });
    }
  }

  let all = 0;
  const each = new Map<string | null, number>();
  return async (asked: Guarded, inFlightMax: number | null): Promise<Verdict> => {
    const { accountId } = asked;
    const own = each.get(accountId) ?? 0;
    if (inFlightMax !== null && own >= inFlightMax)
      return new GatewayError("concurrency_limit", { detail: { limit: inFlightMax }, retryAfterSeconds: 1 });
    if (all >= ASKED_AT_ONCE_MAX) return new GatewayError("guard_unavailable", { retryAfterSeconds: 1 });
    all += 1;
    each.set(accountId, own + 1);
    try {
      return await judge(asked);
    } finally {
      all -= 1;
      const left = (each.get(accountId) ?? 1) - 1;
      if (left === 0) each.delete(accountId);
      else each.set(accountId, left);
    }
  };
}

export type Guard = ReturnType<typeof createGuard>;

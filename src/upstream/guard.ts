// The operator's guard: judges that inspect requests and whole answers, and pass, refuse or edit them. One judge is a server.

import { z } from "zod";
import { wholeOf, wholeWithin } from "../core/chunk-list.ts";
import { GatewayError } from "../core/errors.ts";
import { readJson } from "../core/json-bytes.ts";
import { jsonText, parseRaw } from "../core/raw-json.ts";
import { tally } from "../core/tally.ts";
import { ANSWER_BYTES_MAX } from "./answer-body.ts";
import type { PublicFetch } from "./public-fetch.ts";

const REASON_LENGTH_MAX = 400;
/** The limit on concurrent judgements: each keeps another copy of its body. */
const ASKED_AT_ONCE_MAX = 1_024;

/** What a judge gets about a request or its answer. */
export interface Guarded {
  readonly stage: "request" | "answer";
  readonly requestId: string;
  readonly path: string;
  readonly sandbox: boolean;
  /** Null for a caller without a key. */
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** As received. Bodies that are not JSON are refused before the guard. */
  readonly body: unknown;
}

export type Judgement =
  | { readonly action: "pass" }
  | { readonly action: "refuse"; readonly reason: string }
  | { readonly action: "edit"; readonly body: Record<string, unknown> };

/** Rejects if it cannot reach a decision. */
export type Judge = (asked: Guarded) => Promise<Judgement>;

/** The body to continue with; undefined if it is unchanged. */
export type Verdict = { readonly body: unknown } | { readonly body?: undefined } | GatewayError;

export interface GuardOptions {
  /** Run in order; each sees the body as edited by those before it. */
  readonly judges: readonly Judge[];
  /** Whether a request or answer passes while a judge is unavailable. */
  readonly open: boolean;
  readonly onAway: (error: unknown) => void;
  readonly onJudged: (stage: Guarded["stage"], outcome: "pass" | "refuse" | "edit" | "away") => void;
}

/**
 * Returns a function that judges one request or answer, at most `atOnceMax` per account concurrently. Null sets no such limit: for callers
 * without a key, and for answers, whose calls are limited already. Beyond a limit nothing passes, even if the guard is open. Never rejects.
 */
export function createGuard({ judges, open, onAway, onJudged }: GuardOptions) {
  async function judge(asked: Guarded): Promise<Verdict> {
    let { body } = asked;
    for (const one of judges) {
      const told = await one({ ...asked, body }).catch((error: unknown) => {
        onAway(error);
        return null;
      });
      onJudged(asked.stage, told?.action ?? "away");
      if (told === null && !open) return new GatewayError("guard_unavailable", { retryAfterSeconds: 1 });
      if (told?.action === "edit") body = told.body;
      if (told?.action === "refuse") return refusal(asked, told.reason);
    }
    return body === asked.body ? {} : { body };
  }

  let all = 0;
  const each = new Map<string | null, number>();
  return async (asked: Guarded, atOnceMax: number | null): Promise<Verdict> => {
    const { accountId } = asked;
    if (atOnceMax !== null && (each.get(accountId) ?? 0) >= atOnceMax)
      return new GatewayError("concurrency_limit", { detail: { limit: atOnceMax }, retryAfterSeconds: 1 });
    if (all >= ASKED_AT_ONCE_MAX) return new GatewayError("guard_unavailable", { retryAfterSeconds: 1 });
    all += 1;
    tally(each, accountId, 1);
    try {
      return await judge(asked);
    } finally {
      all -= 1;
      tally(each, accountId, -1);
    }
  };
}

function refusal({ stage }: Guarded, reason: string): GatewayError {
  return new GatewayError("guard_refused", { detail: { stage, detail: reason.slice(0, REASON_LENGTH_MAX) } });
}

export type Guard = ReturnType<typeof createGuard>;

const ERROR_BYTES_MAX = 64 * 1024;

interface GuardServerOptions {
  readonly url: string;
  readonly msMax: number;
  readonly internet: PublicFetch;
}

const answerSchema = z.discriminatedUnion("action", [
  z.object({ action: z.literal("pass") }),
  z.object({ action: z.literal("refuse"), reason: z.string().default("") }),
  z.object({ action: z.literal("edit"), body: z.record(z.string(), z.unknown()) }),
]);

export function guardServer({ url, msMax, internet }: GuardServerOptions): Judge {
  return async ({ stage, requestId, path, accountId, keyId, body }) => {
    const sent = jsonText({ stage, request_id: requestId, path, account_id: accountId, key_id: keyId, body });
    const headers = { "content-type": "application/json", accept: "application/json" };
    const send = { headers, body: sent };
    const answer = await internet.open(url, { bytesMax: ANSWER_BYTES_MAX, msMax, redirectsMax: 0, send });
    if (answer instanceof GatewayError) throw answer;
    if (answer.status !== 200) {
      await wholeWithin(answer.body, ERROR_BYTES_MAX);
      throw new Error(`the guard answered ${answer.status}`);
    }
    const read = readJson(await wholeOf(answer.body), parseRaw);
    if ("wrong" in read) throw new Error(`the guard's answer is ${read.wrong}`);
    return answerSchema.parse(read.json);
  };
}

// The operator's guard: judges that see what callers ask, and whole answers, and let it pass, refuse it, or change it.

import { GatewayError } from "../core/errors.ts";

const REASON_LENGTH_MAX = 400;
/** What it is asked of at once: each has its body once more. */
const ASKED_AT_ONCE_MAX = 1_024;

/** What it is told of a request, or of the answer to one. */
export interface Guarded {
  readonly stage: "request" | "answer";
  readonly requestId: string;
  readonly path: string;
  /** Whether the caller plays. */
  readonly sandbox: boolean;
  /** Null: a caller without a key. */
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** As it came; what is no JSON is refused without it. */
  readonly body: unknown;
}

/** What one judge says. */
export type Judgement =
  | { readonly action: "pass" }
  | { readonly action: "refuse"; readonly reason: string }
  | { readonly action: "edit"; readonly body: Record<string, unknown> };

/** Rejects where it does not come to a judgement. */
export type Judge = (asked: Guarded) => Promise<Judgement>;

/** The body to go on with; undefined: as it was sent. */
export type Verdict = { readonly body: unknown } | { readonly body?: undefined } | GatewayError;

export interface GuardOptions {
  /** Asked one after the other, each of what those before it have made of the body. */
  readonly judges: readonly Judge[];
  /** Whether what they were to judge passes while one of them is away. */
  readonly open: boolean;
  readonly onAway: (error: unknown) => void;
  readonly onJudged: (stage: Guarded["stage"], outcome: "pass" | "refuse" | "edit" | "away") => void;
}

/**
 * Asks it of one request or answer, of an account at most so many at once; null: no bound of its own, as for callers without a key, and for
 * answers, whose calls are bounded themselves. What is beyond that does not pass, also where the guard is open. Never rejects.
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
    const own = each.get(accountId) ?? 0;
    if (atOnceMax !== null && own >= atOnceMax)
      return new GatewayError("concurrency_limit", { detail: { limit: atOnceMax }, retryAfterSeconds: 1 });
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

function refusal({ stage }: Guarded, reason: string): GatewayError {
  return new GatewayError("guard_refused", { detail: { stage, detail: reason.slice(0, REASON_LENGTH_MAX) } });
}

export type Guard = ReturnType<typeof createGuard>;

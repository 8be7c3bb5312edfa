// How the log reports an outage of the shared store: one line at its start and one at its end, instead of one per failed call.
import type { Clock } from "../core/clock.ts";
import type { Log } from "../platform/observe/log.ts";

const LOOK_MS = 1_000;
/** The outage is over once the store answers and no call has failed for this long: part of a cluster may still be down. */
const QUIET_MS = 3_000;
const CAUSES_MAX = 5;
const LOST: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);
const LOST_WORDS = /^(Connection is closed|Command timed out|All sentinels are unreachable|Failed to refresh slots)/;

function causesOf(error: unknown, most = CAUSES_MAX): readonly Error[] {
  return error instanceof Error && most > 0 ? [error, ...causesOf(error.cause, most - 1)] : [];
}

/** Whether an error or its cause means that the store was unreachable or refused. */
function isOfOutage(error: unknown): boolean {
  return causesOf(error).some((one) => {
    const code = "code" in one ? one.code : null;
    return code === "ledger_unavailable" || LOST.has(code) || LOST_WORDS.test(one.message);
  });
}

function reasonOf(error: unknown): string {
  const one = causesOf(error).at(-1);
  return one === undefined ? String(error) : one.message || String("code" in one ? one.code : one.name);
}

export type TellBroken = ReturnType<typeof storeOutage>["broken"];

/** `answers`: whether the store answers, called during an outage; null: a file on this machine, which has no outages. */
export function storeOutage(log: Log, clock: Clock, answers: () => (() => Promise<boolean>) | null) {
  let outage: { readonly sinceMs: number; lastMs: number; readonly timer: NodeJS.Timeout } | null = null;

  async function look(): Promise<void> {
    const current = outage;
    if (current === null || clock.elapsedMs() - current.lastMs < QUIET_MS) return;
    if (!(await answers()?.()) || outage !== current) return;
    clearInterval(current.timer);
    const seconds = Math.round((clock.elapsedMs() - current.sinceMs) / 1_000);
    outage = null;
    log.logger.warn({ away_seconds: seconds }, "the store is back: paid calls are served again");
  }

  return {
    /** Logs an error, unless the outage caused it. */
    broken(error: unknown, words: string, fields: Readonly<Record<string, unknown>> = {}) {
      if (answers() === null || !isOfOutage(error)) {
        log.logger.error({ err: error, ...fields }, words);
        return;
      }
      const nowMs = clock.elapsedMs();
      if (outage !== null) {
        outage.lastMs = nowMs;
        return;
      }
      const timer = setInterval(() => void look(), LOOK_MS);
      timer.unref();
      outage = { sinceMs: nowMs, lastMs: nowMs, timer };
      log.logger.error({ reason: reasonOf(error) }, "the store is away: paid calls are refused until it answers");
    },
    stop() {
      clearInterval(outage?.timer);
      outage = null;
    },
  };
}

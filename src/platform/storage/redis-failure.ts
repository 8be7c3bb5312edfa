// Interprets a failed Redis command: it may have run, it was refused, or the command itself is wrong.
import { GatewayError } from "../../core/errors.ts";

/** Prefixes of replies that refuse a command for the time being, with the seconds after which to retry. */
const REFUSALS: Readonly<Record<string, number>> = {
  OOM: 5,
  MISCONF: 5,
  NOAUTH: 5,
  NOPERM: 5,
  WRONGPASS: 5,
  NOREPLICAS: 2,
  CLUSTERDOWN: 2,
  MASTERDOWN: 2,
  LOADING: 2,
  READONLY: 1,
  BUSY: 1,
  TRYAGAIN: 1,
  UNKILLABLE: 1,
  MOVED: 1,
  ASK: 1,
};
const LOST_RETRY_SECONDS = 1;

/** `unknown`: no answer, so it may have run. `no_script`: the server does not have the script or function. */
export type FailureMeaning =
  | { readonly kind: "unknown" }
  | { readonly kind: "no_script" }
  | { readonly kind: "refused"; readonly retryAfterSeconds: number }
  | { readonly kind: "wrong" };

export function meaningOf(error: unknown): FailureMeaning {
  if (!(error instanceof Error)) return { kind: "wrong" };
  // Only the server's own replies have this name; everything else is a connection error.
  if (error.name !== "ReplyError") return { kind: "unknown" };
  const [word = ""] = error.message.split(" ");
  if (word === "NOSCRIPT" || error.message === "ERR Function not found") return { kind: "no_script" };
  const retryAfterSeconds = REFUSALS[word];
  return retryAfterSeconds === undefined ? { kind: "wrong" } : { kind: "refused", retryAfterSeconds };
}

/** True if the server allows no functions: it is older than Redis 7, or the user may not load or call them. */
export function deniesFunctions(error: unknown): boolean {
  return (
    error instanceof Error && error.name === "ReplyError" && /^(NOPERM|ERR unknown (sub)?command)/i.test(error.message)
  );
}

/** The caller's error if Redis was unreachable, timed out, or refused. */
export function unavailable(
  cause: unknown,
  retryAfterSeconds: number = LOST_RETRY_SECONDS,
  nothingDone = false,
): GatewayError {
  return new GatewayError("ledger_unavailable", { retryAfterSeconds, cause, nothingDone });
}

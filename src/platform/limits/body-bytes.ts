// Bounds what the long bodies of requests take of memory: of the process together, and of each account's.
import { GatewayError } from "../../core/errors.ts";

/** When those that are on their way in may have been served. */
const BUSY_SECONDS = 2;

/** What one body takes, from before it is read until its request has been served. */
export interface BodyShare {
  /** Takes more, or says why not. */
  grow(bytes: number): GatewayError | null;
  /** What it has taken and takes later counts as an account's too. */
  belongTo(accountId: string): GatewayError | null;
  /** Gives all of it back, and takes nothing from then on: who is asked late whether a body may come has no say any more. */
  close(): void;
}

export interface BodyBytes {
  open(): BodyShare;
}

export interface BodyBounds {
  readonly bytesMax: number;
  readonly accountBytesMax: number;
}

function full(whose: string, bytesMax: number, status: number): GatewayError {
  const detail = { whose, limit_mib: Math.floor(bytesMax / 1_048_576) };
  return new GatewayError("bodies_in_flight", { detail, status, retryAfterSeconds: BUSY_SECONDS });
}

export function createBodyBytes({ bytesMax, accountBytesMax }: BodyBounds): BodyBytes {
  const byAccount = new Map<string, number>();
  let total = 0;

  function add(accountId: string, bytes: number): GatewayError | null {
    const after = (byAccount.get(accountId) ?? 0) + bytes;
    if (bytes > 0 && after > accountBytesMax) return full("This account's", accountBytesMax, 429);
    if (after === 0) byAccount.delete(accountId);
    else byAccount.set(accountId, after);
    return null;
  }

  function open(): BodyShare {
    let taken = 0;
    let owner: string | null = null;
    let closed = false;
    return {
      grow(bytes) {
        if (closed) return null;
        if (total + bytes > bytesMax) return full("All", bytesMax, 503);
        const refusal = owner === null ? null : add(owner, bytes);
        if (refusal !== null) return refusal;
        total += bytes;
        taken += bytes;
        return null;
      },
      belongTo(accountId) {
        if (closed) return null;
        const refusal = add(accountId, taken);
        if (refusal === null) owner = accountId;
        return refusal;
      },
      close() {
        total -= taken;
        if (owner !== null) add(owner, -taken);
        taken = 0;
        owner = null;
        closed = true;
      },
    };
  }

  return { open };
}

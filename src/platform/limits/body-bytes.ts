// Bounds the memory of long request bodies, for the process and per account.
import { GatewayError } from "../../core/errors.ts";

/** The time in which bodies in flight are likely to be served. */
const BUSY_SECONDS = 2;

export type BodyBytes = ReturnType<typeof createBodyBytes>;
export type BodyShare = ReturnType<BodyBytes["open"]>;

export interface BodyBounds {
  readonly bytesMax: number;
  readonly accountBytesMax: number;
}

function full(whose: string, bytesMax: number, status: number): GatewayError {
  const detail = { whose, limit_mib: Math.floor(bytesMax / 1_048_576) };
  return new GatewayError("bodies_in_flight", { detail, status, retryAfterSeconds: BUSY_SECONDS });
}

export function createBodyBytes({ bytesMax, accountBytesMax }: BodyBounds) {
  const byAccount = new Map<string, number>();
  let total = 0;

  function accountFull(owner: string, bytes: number): GatewayError | null {
    const after = (byAccount.get(owner) ?? 0) + bytes;
    return after > accountBytesMax ? full("This account's", accountBytesMax, 429) : null;
  }

  function count(owner: string | null, bytes: number): void {
    if (owner === null) return;
    const after = (byAccount.get(owner) ?? 0) + bytes;
    if (after === 0) byAccount.delete(owner);
    else byAccount.set(owner, after);
  }

  /** The memory of one body, from before it is read until its request has been served. */
  function open() {
    let taken = 0;
    let owner: string | null = null;
    let closed = false;
    return {
      /** Reserves more bytes. Returns an error if the limit is reached. */
      grow(bytes: number): GatewayError | null {
        if (closed) return null;
        // Checks the account first: other accounts cannot make room for it.
        const refusal = owner === null ? null : accountFull(owner, bytes);
        if (refusal !== null) return refusal;
        if (total + bytes > bytesMax) return full("All", bytesMax, 503);
        count(owner, bytes);
        total += bytes;
        taken += bytes;
        return null;
      },
      /** Counts past and future bytes toward an account too. */
      belongTo(accountId: string): GatewayError | null {
        if (closed) return null;
        const refusal = accountFull(accountId, taken);
        if (refusal !== null) return refusal;
        owner = accountId;
        count(owner, taken);
        return null;
      },
      /** Releases everything and ignores later calls, such as a late check of whether a body may be read. */
      close(): void {
        total -= taken;
        count(owner, -taken);
        taken = 0;
        owner = null;
        closed = true;
      },
    };
  }

  return { open };
}

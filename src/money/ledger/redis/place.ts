// What every part of the Redis ledger works with: the connection, the scripts, the clock and the indexes.
import type { Clock } from "../../../core/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import { type Archive, NO_ARCHIVE } from "../archive/archive.ts";
import { AccountIndex } from "./account-index.ts";
import { type LedgerLink, ledgerScripts, transitionClock } from "./script.ts";

const RETRY_AFTER_SECONDS = 1;

export interface PlaceOptions {
  readonly link: LedgerLink;
  readonly clock: Clock;
  /** The clock replaces the server's own; for tests. */
  readonly clockIsServers?: boolean;
  /** Where postings move; absent: they stay in Redis. */
  readonly archive?: Archive;
}

export type LedgerPlace = ReturnType<typeof ledgerPlace>;

export function ledgerPlace({ link, clock, clockIsServers = false, archive = NO_ARCHIVE }: PlaceOptions) {
  const time = transitionClock(clock, clockIsServers);
  const run = ledgerScripts(link, time);
  return { link, clock, archive, time, run, index: new AccountIndex(link, run, clock), copies: waitForCopies(link) };
}

/** Waits for replicas. Both methods reject where no replica confirms in time all writes on these keys' servers. */
const NOT_READY = "No replica of the ledger follows, so nothing was done.";
const NOT_TAKEN = "It was done, and no replica of the ledger has it yet: a failover could take it back. Send it again.";

function waitForCopies(link: LedgerLink) {
  async function wait(keys: readonly string[], reason: string): Promise<void> {
    const copied = await Promise.all(keys.map((key) => link.waitForReplicas(key)));
    if (!copied.includes(false)) return;
    const nothingDone = reason === NOT_READY;
    const said = { data: { reason }, cause: new Error("no replica has it yet"), nothingDone };
    throw new GatewayError("ledger_unavailable", { retryAfterSeconds: RETRY_AFTER_SECONDS, ...said });
  }
  return {
    /** Call before a write whose secret could not be returned after a refusal: better not to begin it. */
    ready: (...keys: readonly string[]) => wait(keys, NOT_READY),
    /** Call after a write. These writes have no spool, so one that a failover could lose is refused, and the user repeats it. */
    taken: (...keys: readonly string[]) => wait(keys, NOT_TAKEN),
  };
}

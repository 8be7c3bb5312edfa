// Opens ledgers in a real Redis for tests, with a manual clock in place of the server's.

import { type Archive, NO_ARCHIVE } from "../../../../src/money/ledger/archive/archive.ts";
import { redisLedger } from "../../../../src/money/ledger/redis/ledger.ts";
import type { LedgerLink } from "../../../../src/money/ledger/redis/script.ts";
import { manualClock } from "../../../support/manual-clock.ts";
import { START_MS, type TestStore } from "../store.ts";

const LEASE_MS = 60_000;

/** A ledger over a link to an empty server; `dispose` ends both. */
export function redisStore(link: LedgerLink, dispose: () => Promise<void>, archive: Archive = NO_ARCHIVE): TestStore {
  const clock = manualClock(START_MS);
  // By the test's clock the server has long been up.
  const settled = { ...link, uptimeMs: () => Promise.resolve(LEASE_MS) };
  const open = () => redisLedger({ link: settled, clock, clockIsServers: true, leaseMs: LEASE_MS, archive });
  let ledger = open();
  return {
    clock,
    shared: true,
    tellsUsage: archive !== NO_ARCHIVE,
    get ledger() {
      return ledger;
    },
    get sharedLedger() {
      return ledger;
    },
    async reopen() {
      ledger = open();
      return ledger;
    },
    dispose,
  };
}

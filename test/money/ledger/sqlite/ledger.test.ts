import { LONG_RUNS } from "../../../support/runs.ts";
import { ledgerContract } from "../contract/ledger.ts";
import { remoteStore, sqliteStore } from "../store.ts";

ledgerContract("sqlite", sqliteStore);
// The same statements behind a socket; test/platform/storage/remote-thread.test.ts covers the socket itself.
if (LONG_RUNS) ledgerContract("sqlite of another process", remoteStore);

import { ledgerContract } from "../contract/ledger.ts";
import { remoteStore, sqliteStore } from "../store.ts";

ledgerContract("sqlite", sqliteStore);
ledgerContract("sqlite of another process", remoteStore);

import { ledgerContract } from "../contract/ledger.ts";
import { sqliteStore } from "../store.ts";

ledgerContract("sqlite", sqliteStore);

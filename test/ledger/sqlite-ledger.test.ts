import { ledgerContract } from "./contract.ts";
import { sqliteStore } from "./store.ts";

ledgerContract("sqlite", sqliteStore);

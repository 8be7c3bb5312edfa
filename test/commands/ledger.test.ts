// The commands of docs/ledger.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/ledger.md");

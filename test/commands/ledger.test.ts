// The commands of docs/internals/ledger.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/internals/ledger.md");

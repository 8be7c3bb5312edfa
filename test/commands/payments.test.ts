// The commands of docs/payments.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/payments.md");

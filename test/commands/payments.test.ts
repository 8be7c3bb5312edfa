// The commands of docs/guides/payments.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/payments.md");

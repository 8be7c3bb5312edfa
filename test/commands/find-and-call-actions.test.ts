// The commands of docs/guides/find-and-call-actions.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/find-and-call-actions.md");

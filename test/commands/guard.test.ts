// The commands of docs/guides/guard.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/guard.md");

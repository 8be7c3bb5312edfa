// The commands of docs/guides/sessions.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/sessions.md");

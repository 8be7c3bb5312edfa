// The commands of docs/guides/events.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/events.md");

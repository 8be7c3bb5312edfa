// The commands of docs/guides/alarms.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/alarms.md");

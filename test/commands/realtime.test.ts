// The commands of docs/guides/realtime.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/realtime.md");

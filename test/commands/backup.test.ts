// The commands of docs/guides/backup.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/backup.md");

// The commands of docs/guides/request-log.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/request-log.md");

// The commands of docs/guides/batches.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/batches.md");

// The commands of docs/guides/files.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/files.md");

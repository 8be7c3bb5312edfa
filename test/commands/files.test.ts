// The commands of docs/files.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/files.md");

// The commands of docs/acting.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/acting.md");

// The commands of docs/sandbox.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/sandbox.md");

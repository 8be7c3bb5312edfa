// The commands of docs/operations.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/operations.md");

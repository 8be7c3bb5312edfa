// The commands of docs/adapters.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/adapters.md");

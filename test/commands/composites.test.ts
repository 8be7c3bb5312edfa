// The commands of docs/composites.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/composites.md");

// The commands of docs/other-models.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/other-models.md");

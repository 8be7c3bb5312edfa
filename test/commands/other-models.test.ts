// The commands of docs/guides/other-models.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/other-models.md");

// The commands of docs/guides/composites.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/composites.md");

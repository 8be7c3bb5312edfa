// The commands of docs/guides/runs.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/runs.md");

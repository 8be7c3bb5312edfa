// The commands of docs/guides/jobs.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/jobs.md");

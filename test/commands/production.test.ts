// The commands of docs/guides/production.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/production.md");

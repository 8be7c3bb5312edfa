// The commands of docs/guides/sandbox.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/sandbox.md");

// The commands of docs/guides/tool-loop.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/tool-loop.md");

// The commands of docs/start/quickstart.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/start/quickstart.md");

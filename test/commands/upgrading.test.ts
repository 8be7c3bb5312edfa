// The commands of docs/upgrading.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/upgrading.md");

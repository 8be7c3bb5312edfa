// The commands of docs/guides/upgrading.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/upgrading.md");

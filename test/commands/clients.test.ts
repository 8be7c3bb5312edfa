// The commands of docs/guides/clients.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/clients.md");

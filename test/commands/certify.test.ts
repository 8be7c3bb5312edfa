// The commands of docs/certify.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/certify.md");

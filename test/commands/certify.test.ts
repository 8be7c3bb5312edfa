// The commands of docs/guides/certify.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/certify.md");

// The commands of docs/guides/oauth.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/oauth.md");

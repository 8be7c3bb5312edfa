// The commands of docs/guides/web-pages.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/web-pages.md");

// The commands of docs/guides/mcp.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/mcp.md");

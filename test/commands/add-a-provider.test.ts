// The commands of docs/guides/add-a-provider.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/add-a-provider.md");

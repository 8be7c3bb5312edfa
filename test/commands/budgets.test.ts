// The commands of docs/guides/budgets.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/budgets.md");

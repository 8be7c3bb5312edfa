// The commands of docs/guides/model-prices.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/model-prices.md");

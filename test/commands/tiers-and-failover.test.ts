// The commands of docs/guides/tiers-and-failover.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/guides/tiers-and-failover.md");

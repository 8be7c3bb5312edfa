// The commands of docs/start/tour.md.
import { runCommandsOf } from "./page.ts";

runCommandsOf("docs/start/tour.md");

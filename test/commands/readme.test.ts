// The commands of the README.
import { onlyAProcessShows } from "../support/process-fact.ts";
import { runCommandsOf } from "./page.ts";

onlyAProcessShows("the commands of the README");

runCommandsOf("README.md");

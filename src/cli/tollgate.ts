#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The `tollgate` command: admin calls while the gateway runs, doctor and backup also while it does not.
import "../processes/node-version.cjs";
import "../core/kept-sources.mjs";

// What is imported from here on, and not before, is taken from what an earlier start has kept.
const { run } = await import("./run.ts");
process.exitCode = await run(process.argv.slice(2), {
  out: (line) => console.log(line),
  err: (line) => console.error(line),
  // Undefined where it is no terminal.
  columns: process.stdout.columns,
});

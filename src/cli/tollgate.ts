#!/usr/bin/env -S node --disable-warning=ExperimentalWarning
// The `tollgate` command: admin calls while the gateway runs; doctor and backup also without it.
import "../processes/node-version.cjs";
import "../core/kept-sources.mjs";

/** XTerm's code for an empty title; shells set their own with the next prompt. */
const UNTITLE = "\x1b]2;\x07";

// Imports from here on use the compile cache of an earlier start.
const { run } = await import("./run.ts");
process.exitCode = await run(process.argv.slice(2), {
  out: (line) => console.log(line),
  err: (line) => console.error(line),
  // Undefined without a terminal.
  columns: process.stdout.columns,
  title: process.stderr.isTTY
    ? (text) => void process.stderr.write(text === null ? UNTITLE : `\x1b]2;${text}\x07`)
    : undefined,
});

// The temporary folder of one run of the tests: whatever a test or a process of its leaves there goes with the run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Waits for the end of its pipe, which comes also where the run is killed: those who write into the folder are ended then too. */
const REMOVE = `read -r _; rm -rf -- "$1" 2>/dev/null || { sleep 2; rm -rf -- "$1"; }`;

const STRIPPED_SOURCES = join(import.meta.dirname, "stripped-sources.mjs");

/** What every process of the run begins with, in the words of NODE_OPTIONS. */
function sourcesKeptIn(folder: string): string {
  mkdirSync(folder);
  const hooks = pathToFileURL(STRIPPED_SOURCES);
  hooks.searchParams.set("folder", folder);
  return `--import=${hooks.href}`;
}

/** Run before the processes that run tests, which have its TMPDIR and NODE_OPTIONS; answers what is run after them. */
export function setup(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-run-"));
  // PostgreSQL is another user when root runs the tests, and has a folder of its own in here.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} ${sourcesKeptIn(join(folder, "stripped"))}`.trim();
  // Detached: a signal to the whole group, as by Ctrl-C, is not for it.
  const remover = spawn("/bin/sh", ["-c", REMOVE, "sh", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  return async () => {
    remover.stdin.end();
    await once(remover, "exit");
  };
}

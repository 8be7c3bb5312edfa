// The temporary folder of one run of the tests: whatever a test or a process of its leaves there goes with the run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Waits for the end of its pipe, which comes also where the run is killed: those who write into the folder are ended then too. */
const REMOVE = `read -r _; rm -rf -- "$1" 2>/dev/null || { sleep 2; rm -rf -- "$1"; }`;

const KEPT_SOURCES = pathToFileURL(join(import.meta.dirname, "kept-sources.mjs"));

/** Run before the processes that run tests, which have its TMPDIR and NODE_OPTIONS; answers what is run after them. */
export function setup(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-run-"));
  // PostgreSQL is another user when root runs the tests, and has a folder of its own in here.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --import=${KEPT_SOURCES.href}`.trim();
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

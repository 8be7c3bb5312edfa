// The temporary folder of one test run: everything that a test or its processes leave there is removed with the run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Waits for the end of its pipe, which also comes where the run is killed; the processes that write into the folder end then too. */
const REMOVE = `read -r _; rm -rf -- "$1" 2>/dev/null || { sleep 2; rm -rf -- "$1"; }`;

const KEPT_SOURCES = pathToFileURL(join(import.meta.dirname, "kept-sources.mjs"));

/** Runs before the test processes, which get its TMPDIR and NODE_OPTIONS; returns what runs after them. */
export function setup(): () => Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-run-"));
  // Where root runs the tests, PostgreSQL runs as another user, with a folder of its own in here.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ""} --import=${KEPT_SOURCES.href}`.trim();
  // Detached, so that a signal to the whole group, as by Ctrl-C, does not reach it.
  const remover = spawn("/bin/sh", ["-c", REMOVE, "sh", folder], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  return async () => {
    remover.stdin.end();
    await once(remover, "exit");
  };
}

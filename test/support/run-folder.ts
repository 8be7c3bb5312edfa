// The temporary folder of one run of the tests: whatever a test or a process of its leaves there goes with the run.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Run before the processes that run tests, which have its TMPDIR; answers what is run after them. */
export function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-run-"));
  // PostgreSQL is another user when root runs the tests, and has a folder of its own in here.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

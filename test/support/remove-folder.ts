// Removes a test's folder although a process may still write into it.
import { rmSync } from "node:fs";

const PATIENT_MS = 20_000;
const BETWEEN_MS = 20;

/**
 * Removes a folder and all in it; one that is not there is fine. A child of a killed server (Redis while it
 * rewrites its file, PostgreSQL, Chromium) may outlive it for a moment and add a file between the listing and the
 * removal. `maxRetries` of `rmSync` does not help, as it never lists the folder again.
 */
export function removeFolder(folder: string): void {
  const untilMs = Date.now() + PATIENT_MS;
  for (;;) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (cause) {
      if (Date.now() > untilMs) throw cause;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_MS);
    }
  }
}

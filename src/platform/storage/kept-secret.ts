// The gateway's own secret: created at the first start, in a file of the data folder that only its owner can read.
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "./make-folder.ts";

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** The secret in a file; null if none has been created. */
export function readSecret(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim() || null;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

/** The secret in a file; the first start creates it (mode 0600). Throws if the folder is not writable. */
export function ensureSecret(file: string, make: () => string): string {
  const kept = readSecret(file);
  if (kept !== null) return kept;
  makeFolder(dirname(file));
  const secret = make();
  // Linking a complete file keeps half a secret from appearing after a power failure, and lets only one process win.
  const fresh = `${file}.${process.pid}.new`;
  const opened = openSync(fresh, "w", 0o600);
  writeSync(opened, `${secret}\n`);
  fsyncSync(opened);
  closeSync(opened);
  try {
    linkSync(fresh, file);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    unlinkSync(fresh);
  }
  return readSecret(file) ?? secret;
}

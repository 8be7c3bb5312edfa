// A secret of this gateway alone: made at the first start, kept in a file of the data folder that only its owner can read.
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "./make-folder.ts";

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** The secret in a file, or null where none has been made. */
export function readSecret(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim() || null;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

/** The secret in a file; the first start makes it (mode 0600). Throws where the folder cannot be written. */
export function ensureSecret(file: string, make: () => string): string {
  const kept = readSecret(file);
  if (kept !== null) return kept;
  makeFolder(dirname(file));
  const secret = make();
  // Under its name there is never half a secret, whenever the power fails, and of several processes one makes it.
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

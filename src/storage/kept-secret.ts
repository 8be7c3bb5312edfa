// A secret of this gateway alone: made at the first start, kept in a file of the data folder that only its owner can read.
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** The secret in a file, or null where none has been made. */
export function readSecret(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim() || null;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** The secret in a file; the first start makes it (mode 0600). Throws where the folder cannot be written. */
export function ensureSecret(file: string, make: () => string): string {
  const kept = readSecret(file);
  if (kept !== null) return kept;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const secret = make();
  // Under its name there is never half a secret, whenever the power fails.
  const fresh = openSync(`${file}.new`, "w", 0o600);
  writeSync(fresh, `${secret}\n`);
  fsyncSync(fresh);
  closeSync(fresh);
  renameSync(`${file}.new`, file);
  return secret;
}

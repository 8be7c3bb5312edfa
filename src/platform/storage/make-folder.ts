// Creates a folder and its parents.
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Node's recursive mkdir loops forever on file systems that allow no folders, such as /proc. Throws if a folder cannot be created. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

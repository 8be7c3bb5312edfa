// Makes a folder with those above it.
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Node's own way to make them all goes on for ever where a file system takes none, such as /proc. Throws where one cannot be made. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

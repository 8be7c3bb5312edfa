// What the check of the shipped files found good is kept beside the packages: checking them is a third of a start, and they are the same at the next.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** `npm ci` empties it with the rest of node_modules, so that another version of the library that checks begins anew. */
const FOLDER = path.join("node_modules", ".cache", "tollgate", "checked");

/** What is checked, and the sources of the check. */
const FOLDERS = ["adapters", "tiers", path.join("src", "catalog")];

/** What is read on demand and is no part of the check. */
const STAND_IN = ".sandbox.ts";

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(STAND_IN))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

/** Whether files as these were found good before, by a check as this one. */
interface KeptVerdict {
  readonly isGood: boolean;
  /** They have been found good now. */
  keep(): void;
}

/**
 * Reads every file under `root` that the check looks at, so it is for a start, when no call waits. A change of one byte makes another
 * verdict; what `src/catalog` imports from elsewhere is not looked at.
 */
export function keptVerdict(root: string): KeptVerdict {
  const hash = createHash("sha256");
  for (const file of FOLDERS.flatMap((folder) => filesIn(path.join(root, folder)))) {
    const content = readFileSync(file);
    hash.update(`${path.relative(root, file)}\n${content.length}\n`).update(content);
  }
  const kept = path.join(root, FOLDER, hash.digest("hex"));
  return {
    isGood: existsSync(kept),
    keep() {
      try {
        mkdirSync(path.dirname(kept), { recursive: true });
        writeFileSync(kept, "");
      } catch {
        // Nothing is kept, as in an image that is read alone.
      }
    },
  };
}

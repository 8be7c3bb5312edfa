// Remembers that the shipped files passed their check: the check takes a third of a start, and the files rarely change between starts.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** `npm ci` deletes it with the rest of node_modules, so a new version of the validation library starts fresh. */
const FOLDER = path.join("node_modules", ".cache", "tollgate", "checked");

/** The files that are checked, and the source of the check. */
const FOLDERS = ["adapters", "tiers", path.join("src", "catalog")];

/** Loaded on demand and not part of the check. */
const STAND_IN = ".sandbox.ts";

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(STAND_IN))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}

/** Whether identical files passed an identical check before. */
interface KeptVerdict {
  readonly isGood: boolean;
  /** Records that they passed now. */
  keep(): void;
}

/** Reads synchronously every file that the check covers, so only at start. Any changed byte there invalidates the verdict. */
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
        // Not stored if the file system is read-only, as in some container images.
      }
    },
  };
}

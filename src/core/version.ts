// Which Tollgate this is: as its package says, and, where that is not enough, as its sources do.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

interface Package {
  readonly version: string;
}

export const { version: VERSION } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as Package;

/**
 * The version with a hash of the sources as they lie there now: a version has many commits, and processes that speak to each other
 * must be of one. Reads 5 MB.
 */
export function exactVersion(): string {
  const sources = new URL("../", import.meta.url);
  const hash = createHash("sha256");
  for (const path of readdirSync(sources, { recursive: true, encoding: "utf8" }).sort())
    if (path.endsWith(".ts")) hash.update(path).update(readFileSync(new URL(path, sources)));
  return `${VERSION}+${hash.digest("hex").slice(0, 16)}`;
}

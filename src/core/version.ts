// This Tollgate's version: the package's, and a hash of the sources.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

interface Package {
  readonly version: string;
}

export const { version: VERSION } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as Package;

/** The version with a hash of the sources: processes that talk to each other must run the same commit. Reads 5 MB. */
export function exactVersion(): string {
  const sources = new URL("../", import.meta.url);
  const hash = createHash("sha256");
  for (const path of readdirSync(sources, { recursive: true, encoding: "utf8" }).sort())
    if (path.endsWith(".ts")) hash.update(path).update(readFileSync(new URL(path, sources)));
  return `${VERSION}+${hash.digest("hex").slice(0, 16)}`;
}

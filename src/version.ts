// Which Tollgate this is, as its package says.
import { readFileSync } from "node:fs";

interface Package {
  readonly version: string;
}

export const { version: VERSION } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
) as Package;

// Programs from npm, each installed into its own folder of bench/.peers at pinned versions.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Unavailable } from "../subjects.ts";

const HOMES = fileURLToPath(new URL("../.peers", import.meta.url));

/** Versions by name, as in a package.json. */
interface Wanted {
  readonly dependencies: Readonly<Record<string, string>>;
  /** Of their dependencies. */
  readonly overrides?: Readonly<Record<string, string>>;
}

/** The path of `file` in the folder's `node_modules`; installs what is missing. */
export function installWithNpm(folder: string, file: string, wanted: Wanted): string {
  const home = join(HOMES, folder);
  const path = join(home, "node_modules", file);
  if (existsSync(path)) return path;
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), JSON.stringify({ private: true, ...wanted }));
  const flags = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"];
  spawnSync("npm", ["install", "--prefix", home, ...flags], { stdio: "ignore" });
  if (!existsSync(path)) throw new Unavailable(`${folder} could not be installed (is the registry reachable?)`);
  return path;
}

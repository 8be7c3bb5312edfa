// Programs that npm brings, installed for the bench alone into a folder of bench/.peers each, at pinned versions.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Unavailable } from "../subjects.ts";

const HOMES = fileURLToPath(new URL("../.peers", import.meta.url));

/** Versions by name, as a package.json has them. */
interface Wanted {
  readonly dependencies: Readonly<Record<string, string>>;
  /** Of what these bring with them. */
  readonly overrides?: Readonly<Record<string, string>>;
}

/** The path of `file` in the folder's `node_modules`, with what is wanted installed where it is missing. */
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

// Where the tree is made: fills what starts keep of our files, for an image and a unit, which may not write it themselves.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { stripped } from "../src/core/kept-sources.mjs";

const ROOT = join(import.meta.dirname, "..");
const files = ["src", "adapters", "tiers"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join(ROOT, folder, path)),
);
for (const file of files) stripped(file);
console.log(`${files.length} files are kept without their types`);

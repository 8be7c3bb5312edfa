// Files that passed their check at an earlier start are not checked again; files that changed since are.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { keptVerdict } from "../../src/catalog/validate.ts";
import { folderForTest } from "../support/for-file.ts";

function tree(): { readonly root: string; readonly write: (file: string, text: string) => void } {
  const root = folderForTest("tollgate-verdict-");
  for (const folder of ["adapters", "tiers", "src/catalog"]) mkdirSync(join(root, folder), { recursive: true });
  const write = (file: string, text: string) => writeFileSync(join(root, file), text);
  for (const file of ["adapters/ada.ts", "adapters/ada.json", "tiers/best.ts", "src/catalog/validate.ts"])
    write(file, "1");
  return { root, write };
}

it("is good once it has been kept", () => {
  const { root } = tree();
  expect(keptVerdict(root).isGood).toBe(false);
  keptVerdict(root).keep();
  expect(keptVerdict(root).isGood).toBe(true);
});

it.each([
  ["an adapter", "adapters/ada.ts"],
  ["its table", "adapters/ada.json"],
  ["a tier", "tiers/best.ts"],
  ["the check itself", "src/catalog/validate.ts"],
  ["a file that was not there", "adapters/bob.ts"],
])("is good no more after a change: %s", (_, file) => {
  const { root, write } = tree();
  keptVerdict(root).keep();
  write(file, "2");
  expect(keptVerdict(root).isGood).toBe(false);
});

it("is of no stand-in, which is read where a sandbox asks for it", () => {
  const { root, write } = tree();
  keptVerdict(root).keep();
  write("adapters/ada.sandbox.ts", "1");
  expect(keptVerdict(root).isGood).toBe(true);
});

it("is not kept where nothing can be written, and nothing fails", () => {
  const { root, write } = tree();
  write("node_modules", "a file where the folder would be");
  keptVerdict(root).keep();
  expect(keptVerdict(root).isGood).toBe(false);
});

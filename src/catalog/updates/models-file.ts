// The file that `tollgate models update` writes and every load merges over the adapters: `models.json`, beside the operator's own adapters.
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inSlices } from "../../core/slices.ts";
import { type ModelsUpdate, updateOf } from "./update.ts";

/** Versions before 0.2.0 kept a dated file per update in `DATA_DIR/models`. */
const DATED = /^\d{8}T\d{6}\.json$/;

export const MODELS_FILE = "models.json";

type Folders = Readonly<Record<"overlayDir", string | null> & Record<"dataDir", string>>;

/** In `OVERLAY_DIR`, or in `DATA_DIR` if there is no overlay. */
export function modelsFile({ overlayDir, dataDir }: Folders): string {
  return join(overlayDir ?? dataDir, MODELS_FILE);
}

/** Reads the file; null if there is none. Throws an error that names the file and field if it is invalid. */
export async function readModelsFile(folders: Folders): Promise<ModelsUpdate | null> {
  const own = modelsFile(folders);
  const path = existsSync(own) ? own : await newestDated(join(folders.dataDir, "models"));
  const text = path === null ? null : await readFile(path, "utf8");
  if (text === null) return null;
  try {
    return await inSlices(updateOf(text));
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function newestDated(folder: string): Promise<string | null> {
  const names = await readdir(folder).catch(() => []);
  const newest = names
    .filter((name) => DATED.test(name))
    .sort()
    .at(-1);
  return newest === undefined ? null : join(folder, newest);
}

/** The file's text: one model per line, sorted by name, so that a diff shows what an update changes. */
export function modelsFileText({ vendors, ...head }: ModelsUpdate): string {
  const byName = <Value>(all: Readonly<Record<string, Value>>) =>
    Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
  const sorted = Object.entries(byName(vendors)).map(([id, kinds]) => {
    const lists = Object.entries(kinds).map(([kind, models]) => {
      const rows = Object.entries(byName(models as Readonly<Record<string, unknown>>)).map(
        ([model, facts]) => `        ${JSON.stringify(model)}: ${JSON.stringify(facts)}`,
      );
      return `      ${JSON.stringify(kind)}: {\n${rows.join(",\n")}\n      }`;
    });
    return `    ${JSON.stringify(id)}: {\n${lists.join(",\n")}\n    }`;
  });
  const fields = Object.entries(head).map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  return `{\n${fields.join("\n")}\n  "vendors": {\n${sorted.join(",\n")}\n  }\n}\n`;
}

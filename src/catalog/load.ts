// Loads the catalog's folders: each file in adapters/ or tiers/ is an adapter or a tier, with the file name as id.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { registerHooks } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inSlices, type Steps } from "../core/slices.ts";
import type { Catalog, StandInFile } from "./catalog.ts";
import { type CatalogOptions, compileCatalog } from "./compile.ts";
import type { EndpointTable } from "./endpoint-table.ts";
import type { AdapterSpec, AdapterTable } from "./spec.ts";
import type { ActionTierSpec, CompositeTierSpec, TierSpec } from "./tier.ts";
import { MODELS_FILE } from "./updates/models-file.ts";
import { type ModelsUpdate, withUpdate } from "./updates/update.ts";
import { CatalogError, checkAdapter, checkTable, checkTier, isAdapterTable, keptVerdict } from "./validate.ts";

/** The folder with the shipped `adapters/` and `tiers/`. */
const SHIPPED = fileURLToPath(new URL("../../", import.meta.url));

const FILE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*\.ts$/;

/** Files beside an adapter that are not adapters: its sidecar's program, and the stand-in for its vendor in the sandbox. */
const SIDECAR = ".helper.ts";
const STAND_IN = ".sandbox.ts";

/** The imports available to these files, wherever they are on disk. */
const OPEN_TO_FILES: Readonly<Record<string, string>> = {
  "#adapter": new URL("./adapter.ts", import.meta.url).href,
  "#sandbox": new URL("../sandbox/stand-in.ts", import.meta.url).href,
  "#tier": new URL("./tier.ts", import.meta.url).href,
};

export interface LoadOptions extends CatalogOptions {
  /** `OVERLAY_DIR`: its `adapters/` and `tiers/` extend the shipped ones and replace those of the same name. */
  readonly overlayDir: string | null;
  /** Updates from model lists; null if there are none. */
  readonly update?: ModelsUpdate | null;
}

interface CatalogFile {
  readonly id: string;
  /** Its name in error messages: `adapters/openai.ts`, for an overlay preceded by the overlay's folder. */
  readonly name: string;
  readonly path: string;
}

/** The files of a folder, sorted by name; empty if the folder does not exist. */
async function entriesOf(root: string, folder: string): Promise<readonly string[]> {
  const entries = await readdir(path.join(root, folder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return entries.sort();
}

async function listFolder(root: string, folder: string, shownAs: string): Promise<readonly CatalogFile[]> {
  const entries = await entriesOf(root, folder);
  const isBeside = (entry: string) => entry.endsWith(SIDECAR) || entry.endsWith(STAND_IN);
  const files = entries.filter((entry) => entry.endsWith(".ts") && !isBeside(entry));
  const named = (entry: string) => path.join(shownAs, folder, entry);
  const strange = files.filter((entry) => !FILE_NAME.test(entry));
  if (strange.length > 0) throw new CatalogError(strange.map((entry) => `${named(entry)} is not named in-this-way.ts`));
  return files.map((entry) => ({ id: entry.slice(0, -3), name: named(entry), path: path.join(root, folder, entry) }));
}

function versionOf(content: Buffer | string): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 16);
}

/** Guards against a top-level await that never settles. */
const IMPORT_MS_MAX = 10_000;

/** Imports a file's present content, by a URL with its hash. Throws if the file is not a module, throws while it loads, or loads too slowly. */
async function importFile(file: CatalogFile): Promise<unknown> {
  const version = versionOf(await readFile(file.path));
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`it has not come to its end within ${IMPORT_MS_MAX / 1_000} seconds`)),
    IMPORT_MS_MAX,
  );
  const importing = import(`${pathToFileURL(file.path).href}?v=${version}`) as Promise<{ readonly default?: unknown }>;
  try {
    return (await Promise.race([importing, late.promise])).default;
  } finally {
    clearTimeout(timer);
  }
}

/** Runs `work` while `#adapter` and the like resolve to our modules for files in the folder, which is outside our package. */
async function withOurTypes<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const inside = pathToFileURL(path.join(folder, path.sep)).href;
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      const ours = context.parentURL?.startsWith(inside) ? OPEN_TO_FILES[specifier] : undefined;
      if (ours !== undefined) return { url: ours, format: "module-typescript", shortCircuit: true };
      const resolved = nextResolve(specifier, context);
      return resolved.url.startsWith(inside) ? { ...resolved, format: "module-typescript" } : resolved;
    },
  });
  try {
    return await work();
  } finally {
    hooks.deregister();
  }
}

/** The last tables read, by path: an unchanged file yields the same object, as an import does. */
const tablesRead = new Map<string, { readonly version: string; readonly table: unknown }>();

/** Throws if the text is not JSON. */
function parseTable(file: string, text: string): unknown {
  const version = versionOf(text);
  const last = tablesRead.get(file);
  if (last?.version === version) return last.table;
  const table: unknown = JSON.parse(text);
  tablesRead.set(file, { version, table });
  return table;
}

/** Values that passed their check. Checking takes half of a catalog's load time, and a reload finds nearly all files unchanged. */
const checkedBefore = new WeakSet<object>();

interface Reading {
  /** The folder name that precedes file names in error messages. */
  readonly shownAs: string;
  /** An earlier start found all files valid in their current state. */
  readonly isGood: boolean;
  readonly problems: string[];
}

type Check = (name: string, value: unknown) => readonly string[];

/** The problems that `check` finds in `value`; a value without problems is not checked again. */
function problemsIn(name: string, value: unknown, check: Check, { isGood }: Reading): readonly string[] {
  const isObject = typeof value === "object" && value !== null;
  if (isObject && checkedBefore.has(value)) return [];
  const found = isGood ? [] : check(name, value);
  if (isObject && found.length === 0) checkedBefore.add(value);
  return found;
}

/** Reads a file's value and checks it; undefined where it has problems. */
async function checkedValue<Spec>(
  name: string,
  read: () => Promise<unknown>,
  check: Check,
  reading: Reading,
): Promise<Spec | undefined> {
  const { problems } = reading;
  try {
    const value = await read();
    const found = value === undefined ? [`${name} has no default export`] : problemsIn(name, value, check, reading);
    problems.push(...found);
    return found.length === 0 ? (value as Spec) : undefined;
  } catch (error) {
    problems.push(`${name} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

async function readFiles<Spec>(files: readonly CatalogFile[], check: Check, reading: Reading) {
  const specs = new Map<string, Spec>();
  for (const file of files) {
    const spec = await checkedValue<Spec>(file.name, () => importFile(file), check, reading);
    if (spec !== undefined) specs.set(file.id, spec);
  }
  return specs;
}

/** The adapters of all files, including those that tables define; an adapter defined twice in a folder is a problem. */
function adaptersOf(
  files: ReadonlyMap<string, AdapterSpec | AdapterTable>,
  shownAs: string,
  problems: string[],
): ReadonlyMap<string, AdapterSpec> {
  const adapters = new Map<string, AdapterSpec>();
  const rows = [...files].flatMap(([file, value]) => {
    const specs: Readonly<Record<string, AdapterSpec>> = isAdapterTable(value) ? value.adapters : { [file]: value };
    return Object.entries(specs).map(([id, spec]) => ({ file, id, spec }));
  });
  for (const { file, id, spec } of rows) {
    if (adapters.has(id)) problems.push(`${path.join(shownAs, "adapters", `${file}.ts`)}: ${id} is another file's too`);
    adapters.set(id, spec);
  }
  return adapters;
}

/** The tables beside adapters' files: `adapters/<id>.json`. */
async function readTables(root: string, ids: Iterable<string>, reading: Reading) {
  const tables = new Map<string, EndpointTable>();
  for (const id of ids) {
    const name = path.join("adapters", `${id}.json`);
    const file = path.join(root, name);
    const text = await readFile(file, "utf8").catch(() => null);
    if (text === null) continue;
    const shown = path.join(reading.shownAs, name);
    const table = await checkedValue<EndpointTable>(shown, async () => parseTable(file, text), checkTable, reading);
    if (table !== undefined) tables.set(id, table);
  }
  return tables;
}

/** The stand-ins beside adapter files. Their code is loaded only when a sandbox needs it, so a gateway without one pays nothing. */
async function standInsOf(root: string, shownAs: string): Promise<ReadonlyMap<string, StandInFile>> {
  const files = (await entriesOf(root, "adapters")).filter((entry) => entry.endsWith(STAND_IN));
  return new Map(
    files.map((entry) => {
      const id = entry.slice(0, -STAND_IN.length);
      const file = { id, name: path.join(shownAs, "adapters", entry), path: path.join(root, "adapters", entry) };
      const load = () => importFile(file);
      return [id, { name: file.name, load: shownAs === "" ? load : () => withOurTypes(root, load) }];
    }),
  );
}

type AnyTierSpec = TierSpec | ActionTierSpec | CompositeTierSpec;

/** The tiers of one type, identified by a field that only this type has. */
function tiersWith<Spec extends AnyTierSpec>(specs: ReadonlyMap<string, AnyTierSpec>, field: keyof Spec) {
  return new Map([...specs].filter((entry): entry is [string, Spec] => field in entry[1]));
}

async function readRoot(root: string, reading: Reading) {
  const { shownAs, problems } = reading;
  const adapters = await listFolder(root, "adapters", shownAs);
  const tiers = await listFolder(root, "tiers", shownAs);
  const isEmpty = adapters.length + tiers.length === 0 && !(await entriesOf(root, "")).includes(MODELS_FILE);
  if (isEmpty) problems.push(`${shownAs} has no file in adapters/ or tiers/, and no ${MODELS_FILE}`);
  const adapterFiles = await readFiles<AdapterSpec | AdapterTable>(adapters, checkAdapter, reading);
  const adapterSpecs = adaptersOf(adapterFiles, shownAs, problems);
  const tierSpecs = await readFiles<AnyTierSpec>(tiers, checkTier, reading);
  return {
    adapters: adapterSpecs,
    tables: await readTables(root, adapterSpecs.keys(), reading),
    standIns: await standInsOf(root, shownAs),
    tiers: tiersWith<TierSpec>(tierSpecs, "firstTokenMsMax"),
    actionTiers: tiersWith<ActionTierSpec>(tierSpecs, "sells"),
    compositeTiers: tiersWith<CompositeTierSpec>(tierSpecs, "kind"),
  };
}

type ReadRoot = Awaited<ReturnType<typeof readRoot>>;

function* made(shipped: ReadRoot, overlay: ReadRoot | null, options: LoadOptions): Steps<Catalog> {
  // An overlay's adapter replaces the shipped one entirely, including its stand-in.
  const standIns = [...shipped.standIns].filter(([id]) => overlay?.adapters.has(id) !== true);
  const adapters = new Map([...shipped.adapters, ...(overlay?.adapters ?? [])]);
  const files = {
    standIns: new Map([...standIns, ...(overlay?.standIns ?? [])]),
    adapters: yield* withUpdate(adapters, options.update ?? null),
    tables: new Map([...shipped.tables, ...(overlay?.tables ?? [])]),
    tiers: new Map([...shipped.tiers, ...(overlay?.tiers ?? [])]),
    actionTiers: new Map([...shipped.actionTiers, ...(overlay?.actionTiers ?? [])]),
    compositeTiers: new Map([...shipped.compositeTiers, ...(overlay?.compositeTiers ?? [])]),
  };
  return yield* compileCatalog(files, options);
}

/** Whether a load has happened: the first one trusts what an earlier start found valid, later ones check every change. */
let hasBegun = false;

async function readShipped(problems: string[]) {
  const verdict = hasBegun ? null : keptVerdict(SHIPPED);
  hasBegun = true;
  const read = await readRoot(SHIPPED, { shownAs: "", isGood: verdict?.isGood ?? false, problems });
  if (problems.length === 0 && verdict?.isGood === false) verdict.keep();
  return read;
}

/** Builds a catalog from the files as they are now, in slices. Throws CatalogError with one line per problem in any file. */
export async function loadCatalog(options: LoadOptions): Promise<Catalog> {
  const problems: string[] = [];
  const { overlayDir } = options;
  const shipped = await readShipped(problems);
  const overlay =
    overlayDir === null
      ? null
      : await withOurTypes(path.resolve(overlayDir), () =>
          readRoot(path.resolve(overlayDir), { shownAs: overlayDir, isGood: false, problems }),
        );
  if (problems.length > 0) throw new CatalogError(problems);
  return inSlices(made(shipped, overlay, options));
}

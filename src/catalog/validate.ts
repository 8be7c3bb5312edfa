// Checks an adapter or tier file; every problem names the file and the field. Files that were good before are not checked again.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { tableSchema } from "./endpoint-table.ts";
import { type AdapterTable, adapter } from "./spec.ts";
import { actionTier, COMPOSITE_TIERS, type CompositeTierSpec, tier } from "./tier.ts";

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

/** The catalog cannot be loaded. Each problem is a line that names a file and a field. */
export class CatalogError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The catalog has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n${problems.join("\n")}`,
    );
    this.name = "CatalogError";
    this.problems = problems;
  }
}

const adapterId = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "is not named in-this-way");
const unknownKind = z.strictObject({ kind: z.enum(Object.keys(COMPOSITE_TIERS), "is not a kind of tier") });

const adapterTable = z.strictObject({ adapters: z.record(adapterId, adapter) });

/** Address placeholders that nothing can fill in. */
function unfilled(spec: unknown): readonly string[] {
  const { origin, settings = {} } = spec as z.infer<typeof adapter>;
  const names = [...origin.matchAll(/\{([a-z]+)\}/g)].map(([, name = ""]) => name);
  return names.filter((name) => settings[name] === undefined);
}

/** Each file is checked once, so compiling a schema would take longer than the check. */
function problemsIn(file: string, schema: z.ZodType, value: unknown): readonly string[] {
  const { issues = [] } = schema.safeParse(value, { jitless: true }).error ?? {};
  return issues.map(({ path: at, message }) => `${file}: ${[...at, ""].map(String).join(".").slice(0, -1)} ${message}`);
}

/** Checks an adapter file's default export: an adapter or a table of them. The file's name is used only in the problems. */
export function checkAdapter(file: string, value: unknown): readonly string[] {
  const isTable = isAdapterTable(value);
  const problems = problemsIn(file, isTable ? adapterTable : adapter, value);
  if (problems.length > 0) return problems;
  const rows: readonly (readonly [string, unknown])[] = isTable
    ? Object.entries(value.adapters).map(([id, row]) => [`${file}: adapters.${id}.`, row])
    : [[`${file}: `, value]];
  return rows.flatMap(([at, row]) =>
    unfilled(row).map((name) => `${at}origin has {${name}}, which is none of settings`),
  );
}

export function isAdapterTable(value: unknown): value is AdapterTable {
  return typeof value === "object" && value !== null && "adapters" in value;
}

/** The schema that a tier is checked against: a composite's, an action tier's or a model tier's. */
function tierSchemaOf(value: unknown): z.ZodType {
  if (typeof value !== "object" || value === null) return tier;
  if ("kind" in value) return COMPOSITE_TIERS[value.kind as CompositeTierSpec["kind"]] ?? unknownKind;
  return "sells" in value ? actionTier : tier;
}

export function checkTier(file: string, value: unknown): readonly string[] {
  return problemsIn(file, tierSchemaOf(value), value);
}

export function checkTable(file: string, value: unknown): readonly string[] {
  return problemsIn(file, tableSchema, value);
}

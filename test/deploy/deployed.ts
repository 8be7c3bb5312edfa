// What the tests of deploy/ read it with, and what they ask of all of its files.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { expect } from "vitest";
import { parseAllDocuments } from "yaml";
import { effectiveSettings, readConfig } from "../../src/platform/config.ts";
import { folderForTest } from "../support/for-file.ts";

export const ROOT = join(import.meta.dirname, "../..");
export const DEPLOY = join(ROOT, "deploy");
export const FILES = readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => posix.join(entry.parentPath.slice(DEPLOY.length + 1), entry.name));
/** What a process takes beyond DRAIN_SECONDS: see CLOSE_MS_MAX of the parent. */
export const CLOSE_SECONDS = 15;

export function read(file: string): string {
  return readFileSync(join(DEPLOY, file), "utf8");
}

export function yaml<T = unknown>(file: string): T[] {
  return parseAllDocuments(read(file), { merge: true }).map((document) => {
    expect([...document.errors, ...document.warnings], file).toEqual([]);
    return document.toJS() as T;
  });
}

/** Whether a tool of the operator's is here; what it would check is not checked otherwise. */
export function has(tool: string): boolean {
  return spawnSync("which", [tool]).status === 0;
}

export function temporary(): string {
  const folder = folderForTest("tollgate-deploy-");
  return folder;
}

/** What Node and the C library read. */
const RUNTIME = ["NODE_ENV", "MALLOC_ARENA_MAX"];

/** Fails unless each name is a setting, and the values are ones that the gateway starts with. */
export function expectSettings(environment: Readonly<Record<string, string>>): void {
  const known = effectiveSettings(environment).flatMap(({ name, from }) => (from === "environment" ? [name] : []));
  expect(Object.keys(environment).filter((name) => !known.includes(name) && !RUNTIME.includes(name))).toEqual([]);
  readConfig(environment);
}

// Readers and shared checks for the tests of deploy/.
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
/** The time a process needs beyond DRAIN_SECONDS: see the parent's CLOSE_MS_MAX. */
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

/** Whether the operator's tool is installed; without it, its checks are skipped. */
export function has(tool: string): boolean {
  return spawnSync("which", [tool]).status === 0;
}

export function temporary(): string {
  const folder = folderForTest("tollgate-deploy-");
  return folder;
}

/** Variables that Node and the C library read. */
const RUNTIME = ["NODE_ENV", "MALLOC_ARENA_MAX"];

/** Fails unless each name is a setting and the gateway accepts the values. */
export function expectSettings(environment: Readonly<Record<string, string>>): void {
  const known = effectiveSettings(environment).flatMap(({ name, from }) => (from === "environment" ? [name] : []));
  expect(Object.keys(environment).filter((name) => !known.includes(name) && !RUNTIME.includes(name))).toEqual([]);
  readConfig(environment);
}

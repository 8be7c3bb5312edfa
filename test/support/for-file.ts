// Things that a test file starts at its top end with the file: the last started first.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished } from "vitest";
import { removeFolder } from "./remove-folder.ts";

interface Stopped {
  stop(): Promise<unknown>;
  doctor?(): Promise<unknown>;
}

async function end(started: Stopped | { close(): unknown } | { dispose(): Promise<unknown> }): Promise<void> {
  if ("close" in started) return void (await started.close());
  if ("dispose" in started) return void (await started.dispose());
  const findings = (await started.doctor?.()) ?? [];
  await started.stop();
  expect(findings).toEqual([]);
}

/** Ends it when the file ends. A gateway's books must agree by then. */
export function forFile<T extends Parameters<typeof end>[0]>(started: T): T {
  afterAll(() => end(started));
  return started;
}

/** A new folder, removed when the file ends. */
export function folderForFile(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  afterAll(() => removeFolder(folder));
  return folder;
}

/** A new folder, removed when the running test ends. */
export function folderForTest(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

// What a test file starts at its top, ended with the file: the last started first.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished } from "vitest";

type Started =
  | { stop(): Promise<unknown>; doctor?(): Promise<unknown> }
  | { close(): unknown }
  | { dispose(): Promise<unknown> };

/** Ends it when the file ends. The books of a gateway must agree by then. */
export function forFile<T extends Started>(started: T): T {
  afterAll(async () => {
    const findings = "doctor" in started ? await started.doctor?.() : [];
    if ("stop" in started) await started.stop();
    else if ("close" in started) await started.close();
    else await started.dispose();
    expect(findings).toEqual([]);
  });
  return started;
}

/** A new folder, removed when the file ends. */
export function folderForFile(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A new folder, removed when the test that is running ends. */
export function folderForTest(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

// What a test file starts at its top, ended with the file.
import { afterAll, expect } from "vitest";

type Stopped = { stop(): Promise<void>; doctor?(): Promise<unknown> } | { close(): unknown };

/** Ends it when the file ends, the last started first. The books of a gateway must agree by then. */
export function forFile<T extends Stopped>(started: T): T {
  afterAll(async () => {
    if (!("stop" in started)) return void (await started.close());
    const findings = (await started.doctor?.()) ?? [];
    await started.stop();
    expect(findings).toEqual([]);
  });
  return started;
}

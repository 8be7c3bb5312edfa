// Runs the HTTP engines' contract on the node engine. The files beside this folder run on uws, and here again on node.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { ENGINES, useEngine } from "../edge.ts";

const FOLDERS = [
  join(import.meta.dirname, ".."),
  import.meta.dirname,
  join(import.meta.dirname, "../../../regression"),
];
/** Tests of parts that do not depend on the engine. */
const WITHOUT = ["client-address", "guarded-headers", "match-endpoint", "request-id", "socket-memory"];

function contractFiles(): string[] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => join(folder, name)),
  );
  const regression = /regression\/(?!framing)/;
  const skip = new RegExp(`/(${WITHOUT.join("|")}|node-first|node-second|node-engine)\\.test\\.ts$`);
  return files.filter((file) => !skip.test(file) && !regression.test(file));
}

/** Every second file, starting with `first`: two test files share the work. Skipped where the files themselves run on node. */
export function runOnNode(first: 0 | 1): void {
  describe.skipIf(ENGINES.length === 1)("node", async () => {
    // Also needed while tests are collected, since some apply to one engine only.
    useEngine("node");
    beforeAll(() => useEngine("node"));
    afterAll(() => useEngine());
    const files = contractFiles().filter((_, at) => at % 2 === first);
    // The query makes Node.js load the file again.
    for (const file of files) await import(`${file}?engine=node`);
  });
}

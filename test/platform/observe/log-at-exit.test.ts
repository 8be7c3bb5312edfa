// The log of a process that exits: every line reaches its standard output.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { onlyAProcessShows } from "../../support/process-fact.ts";

onlyAProcessShows("the last log lines at exit");

test("lines on standard output are batched, and none is lost at exit", async () => {
  const source = (file: string) => fileURLToPath(new URL(`../../../src/${file}`, import.meta.url));
  const program = `
    import { createLog } from ${JSON.stringify(source("platform/observe/log.ts"))};
    import { RequestRecord } from ${JSON.stringify(source("platform/observe/record.ts"))};
    import { systemClock } from ${JSON.stringify(source("core/clock.ts"))};
    const log = createLog({ level: "info", clock: systemClock });
    for (let i = 0; i < 500; i += 1) log.request(new RequestRecord({ requestId: "req_" + i, method: "GET", startedMs: 0 }));
    log.flush();
    process.exit(0);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  let out = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  await new Promise((resolve) => child.on("close", resolve));
  const ids = out
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { request_id: string }).request_id);
  // A pending write may come out after the flushed ones: every line has its time.
  const numbers = ids.map((id) => Number(id.slice("req_".length))).sort((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, index) => index));
});

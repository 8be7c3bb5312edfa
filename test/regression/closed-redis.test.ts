// A command whose Redis connection had been closed stayed for another minute, waiting for a reconnect.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { endWithTests } from "../support/end-with-tests.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";

const COMMAND_MS = 60_000;
const EXIT_MS_MAX = COMMAND_MS / 2;

test("a process ends when it has closed its connection to Redis, however patient that was", {
  timeout: REDIS_MS_MAX,
}, async () => {
  const redis = await anyRedis();
  const link = JSON.stringify(new URL("../../src/platform/storage/redis-link.ts", import.meta.url).href);
  const program = `
    const { openRedis } = await import(${link});
    const link = await openRedis("${redis.url}", { onBroken() {}, commandMsMax: ${COMMAND_MS} });
    await link.call("SET", "a", "b");
    await link.close();
    console.log("closed");`;
  const flags = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", program];
  const child = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
  endWithTests(child);
  const exited = once(child, "exit");
  await once(child.stdout, "data");
  const closedMs = performance.now();
  expect(await exited).toEqual([0, null]);
  expect(performance.now() - closedMs).toBeLessThan(EXIT_MS_MAX);
  await redis.dispose();
});

// The tour of docs/guides/processes.md: runs its three commands as written, on the test's own ports and folder.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { endWithTests } from "../support/end-with-tests.ts";
import { freePort } from "../support/free-port.ts";
import { eventually } from "../support/gateway.ts";
import { REDIS_MS_MAX, startRedis } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const REDIS_PORT = "6379";

/** The commands, with their only port replaced. */
function commands(redisPort: string): string[] {
  const page = readFileSync(join(ROOT, "docs/guides/processes.md"), "utf8");
  const block = /<!-- tour: begin[^>]*-->([\s\S]*?)<!-- tour: end -->/.exec(page)?.[1] ?? "";
  const [, text = ""] = /```sh\n([\s\S]*?)\n```/.exec(block) ?? [];
  return text.split("\n").map((line) => line.replaceAll(REDIS_PORT, redisPort));
}

it(
  "starts Redis, starts three gateways, kills one under load, and finds every answer in the books",
  async () => {
    // Installs the server where it is missing.
    await (await startRedis()).dispose();
    const dataDir = mkdtempSync(join(tmpdir(), "tollgate-tour-"));
    const [port, adminPort, redisPort] = [await freePort(), await freePort(), await freePort()].map(String);
    const own = { HOME: dataDir, TMPDIR: dataDir, DATA_DIR: dataDir };
    const kept = { PATH: process.env.PATH, NODE_OPTIONS: process.env.NODE_OPTIONS };
    const env = { ...kept, ...own, PORT: port, ADMIN_PORT: adminPort };
    const started: { readonly child: ChildProcess; readonly closed: Promise<unknown> }[] = [];
    const run = (command: string) => {
      // Its own process group, so that everything the command starts ends with it.
      const child = spawn("bash", ["-c", command], {
        cwd: ROOT,
        env,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let said = "";
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (text) => {
          said += String(text);
        });
      }
      endWithTests(child, "group");
      started.push({ child, closed: once(child, "close") });
      return { child, said: () => said };
    };
    onTestFinished(async () => {
      for (const { child, closed } of started.reverse()) {
        if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
          process.kill(-child.pid, "SIGKILL");
        }
        // The whole group holds the output open, and may write to the folder until it is gone.
        await closed;
      }
      removeFolder(dataDir);
    });
    const [server = "", gateways = "", tour = "", ...more] = commands(String(redisPort));
    expect(more).toEqual([]);
    const redis = run(server);
    await eventually(() => redis.said().includes("Ready to accept connections") || undefined, "Redis");
    const gateway = run(gateways);
    await eventually(() => gateway.said().includes("listen") || undefined, "the gateways");
    const { child, said } = run(tour);
    const [code] = await once(child, "close");
    expect(said(), gateway.said()).toMatch(
      /Killed process \d+; the other two go on\.\nThree processes are ready again\./,
    );
    expect(said()).toContain("Answers that are not in the books once, at their cost: 0. What doctor found: 0.");
    expect(Number(/^(\d+) calls were answered/m.exec(said())?.[1])).toBeGreaterThan(20);
    expect(code, said()).toBe(0);
  },
  REDIS_MS_MAX,
);

// The gateway as several processes on one port: what callers and the operator see when processes come, go and die.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import type { SeenCall } from "../support/chat-call.ts";
import { eventually } from "../support/gateway.ts";
import { doctorOffline, spawnGateway } from "../support/gateway-process.ts";
import { allReady, charged, LONG, SHORT, startSeveral, withBooks } from "../support/several.ts";

/** Several processes take a while to start on a busy machine. */
const TEST_MS_MAX = 60_000;

withBooks();

test(
  "calls spread over the processes, which count as one and are administered as one; SIGTERM lets all of them leave, and cuts no answer",
  async () => {
    const gateway = await startSeveral(2);
    expect(await gateway.readyz()).toEqual({ ready: true, processes: { ready: 2, wanted: 2 } });
    const calls = await Promise.all(Array.from({ length: 40 }, () => gateway.call()));
    expect(charged(calls)).toBe(40);
    expect(await gateway.total("tollgate_outcomes_total", 'operation="chat"')).toBe(40);
    expect(await gateway.total("gen_ai_server_request_duration_seconds_count", "")).toBe(40);

    const lines: string[] = [];
    const say = (line: string) => lines.push(line);
    const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
    const code = await run(["account", "create", "--name", "Ada", "--json"], { environment, out: say, err: say });
    expect([code, JSON.parse(lines.join(""))]).toMatchObject([0, { account_id: expect.stringMatching(/^acct_/) }]);

    const held = Array.from({ length: 6 }, () => gateway.call(LONG));
    await eventually(async () => ((await gateway.gauge("tollgate_in_flight")) >= 7 ? true : undefined), "six streams");
    const exit = await gateway.terminate();
    expect(charged(await Promise.all(held))).toBe(6);
    expect(exit).toEqual({ code: 0, signal: null });

    const [one, two] = await Promise.all([1, 2].map((n) => doctorOffline(join(gateway.dataDir, `worker-${n}`))));
    expect([one?.report.findings, two?.report.findings]).toEqual([[], []]);
    // The top-up is in both books.
    const [first = 0, second = 0] = [one?.report.postings, two?.report.postings];
    expect(first + second).toBe(46 + 2);
    expect(Math.min(first, second)).toBeGreaterThan(5);
  },
  TEST_MS_MAX,
);

test(
  "SIGHUP replaces every process: streams live on, new calls are answered, and the sums stay",
  async () => {
    const gateway = await startSeveral(2);
    const before = gateway.children();
    const streams = Array.from({ length: 6 }, () => gateway.call(LONG));
    await eventually(async () => ((await gateway.gauge("tollgate_in_flight")) >= 7 ? true : undefined), "six streams");
    let over = false;
    const others: SeenCall[] = [];
    const load = Array.from({ length: 2 }, async () => {
      // On connections that stay open between calls, as clients keep them.
      while (!over) others.push(await gateway.call(SHORT, "keep-alive"));
    });
    const done = gateway.says(/replaced/);
    gateway.send("SIGHUP");
    expect(await done).toBe("Every process was replaced.");
    over = true;
    await Promise.all(load);

    expect(gateway.children().filter((pid) => before.includes(pid))).toEqual([]);
    const ended = await Promise.all(streams);
    expect(charged(ended)).toBe(6);
    // A connection that the kernel had given to a process that was leaving may be reset; nobody is turned away.
    expect(others.filter(({ status }) => status !== 0 && status !== 200)).toEqual([]);
    expect(charged(others)).toBeGreaterThanOrEqual(others.length - 1);
    expect(others.length).toBeGreaterThan(10);
    expect(await gateway.readyz()).toEqual({ ready: true, processes: { ready: 2, wanted: 2 } });
    expect(await gateway.total("tollgate_outcomes_total", 'operation="chat"')).toBe(6 + charged(others));
  },
  TEST_MS_MAX,
);

test(
  "a process that is killed is replaced while the others serve on",
  async () => {
    const gateway = await startSeveral(2);
    const [victim = 0, other = 0] = gateway.children();
    const said = gateway.says(/ended/);
    process.kill(victim, "SIGKILL");
    expect(await said).toBe("Process 1 ended (SIGKILL) and is started again.");
    expect(charged(await Promise.all(Array.from({ length: 10 }, () => gateway.call())))).toBe(10);
    await allReady(gateway, 2);
    expect(gateway.children()).toContain(other);
    expect(gateway.children()).not.toContain(victim);
  },
  TEST_MS_MAX,
);

test(
  "a port that somebody else has is refused, although it could be shared",
  async () => {
    const stranger = createServer().listen({ port: 0, host: "127.0.0.1" });
    await once(stranger, "listening");
    onTestFinished(() => void stranger.close());
    const { port } = stranger.address() as { port: number };
    const dataDir = mkdtempSync(join(tmpdir(), "tollgate-several-"));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const start = spawnGateway({ DATA_DIR: dataDir, PORT: String(port) }, undefined, [
      "test/support/several-processes.ts",
    ]);
    await expect(start).rejects.toThrow(`cannot listen on 127.0.0.1 port ${port}: taken`);
  },
  TEST_MS_MAX,
);

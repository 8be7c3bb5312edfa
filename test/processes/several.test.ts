// The gateway as several processes on one port: what callers and the operator see when processes start, stop and die.
import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import type { SeenCall } from "../support/chat-call.ts";
import { folderForTest } from "../support/for-file.ts";
import { eventually } from "../support/gateway.ts";
import { spawnGateway } from "../support/gateway-process.ts";
import { isRunning } from "../support/is-running.ts";
import { REDIS_MS_MAX } from "../support/redis.ts";
import { allReady, charged, inFlight, LONG, type Several, SHORT, startSeveral } from "../support/several.ts";

/** Shared by all tests: each restores it, except the last, which ends it. */
let gateway: Several;
let end = async () => {};

beforeAll(async () => {
  gateway = await startSeveral(2, undefined, (ending) => {
    end = ending;
  });
}, REDIS_MS_MAX);

afterAll(() => end());

async function readyz(): Promise<unknown> {
  return (await fetch(`${gateway.adminUrl}/readyz`)).json();
}

/** The command line's output as JSON, and its exit code. */
async function tollgate(...words: string[]) {
  const lines: string[] = [];
  const say = (line: string) => lines.push(line);
  const code = await run([...words, "--json"], { environment: gateway.environment, out: say, err: say });
  return { code, json: JSON.parse(lines.join("")) as Record<string, unknown> };
}

test("calls spread over the processes, which count as one and are administered as one", async () => {
  expect(await readyz()).toEqual({ ready: true, processes: { ready: 2, wanted: 2 } });
  // The parent, which serves no calls, knows as well as the children what is enabled, and where.
  expect(await gateway.admin("GET", "/admin/v1/providers")).toMatchObject({ url: gateway.url, mistyped: [] });
  const calls = await Promise.all(Array.from({ length: 40 }, () => gateway.call()));
  expect(charged(calls)).toBe(40);
  expect(await gateway.total("tollgate_outcomes_total", 'operation="chat"')).toBe(40);
  expect(await gateway.total("gen_ai_server_request_duration_seconds_count", "")).toBe(40);
  expect(await gateway.gauge("tollgate_accounts")).toBe(1);

  const streams = Array.from({ length: 24 }, () => gateway.call(LONG));
  await inFlight(gateway, 24);
  const spread = gateway.connections();
  expect(spread).toHaveLength(2);
  expect(Math.min(...spread)).toBeGreaterThan(0);
  expect(charged(await Promise.all(streams))).toBe(24);

  expect(await tollgate("freeze", gateway.accountId)).toMatchObject({ code: 0 });
  const frozenMs = performance.now();
  const some = () => Promise.all(Array.from({ length: 8 }, () => gateway.call()));
  await eventually(async () => (charged(await some()) === 0 ? true : undefined), "every process to know");
  // Without a notice, processes use their cached state of a key for a minute.
  expect(performance.now() - frozenMs).toBeLessThan(10_000);
  expect(await tollgate("doctor")).toMatchObject({ code: 0, json: { accounts: 1, holds: 0, findings: [] } });
  expect(await tollgate("unfreeze", gateway.accountId)).toMatchObject({ code: 0 });
  await eventually(async () => (charged(await some()) === 8 ? true : undefined), "every process to know");
});

test("SIGHUP replaces every process: streams live on, new calls are answered, and the sums stay", async () => {
  const before = gateway.children();
  const servedBefore = await gateway.total("tollgate_outcomes_total", 'operation="chat"');
  const streams = Array.from({ length: 6 }, () => gateway.call(LONG));
  await inFlight(gateway, 6);
  let over = false;
  const others: SeenCall[] = [];
  const load = Array.from({ length: 2 }, async () => {
    // On keep-alive connections, as clients use them.
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
  // A connection that the kernel gave to an exiting process may be reset; no call is refused.
  expect(others.filter(({ status }) => status !== 0 && status !== 200)).toEqual([]);
  expect(charged(others)).toBeGreaterThanOrEqual(others.length - 1);
  expect(others.length).toBeGreaterThan(10);
  expect(await readyz()).toEqual({ ready: true, processes: { ready: 2, wanted: 2 } });
  const served = (await gateway.total("tollgate_outcomes_total", 'operation="chat"')) - servedBefore;
  expect(served).toBe(6 + charged(others));
});

test("a process that is killed is replaced while the others serve on", async () => {
  const [victim = 0, other = 0] = gateway.children();
  const said = gateway.says(/ended/);
  process.kill(victim, "SIGKILL");
  expect(await said).toBe("Process 1 ended (SIGKILL) and is started again.");
  expect(charged(await Promise.all(Array.from({ length: 10 }, () => gateway.call())))).toBe(10);
  await allReady(gateway, 2);
  expect(gateway.children()).toContain(other);
  expect(gateway.children()).not.toContain(victim);
});

test("a port that somebody else has is refused, although it could be shared", async () => {
  const stranger = createServer().listen({ port: 0, host: "127.0.0.1" });
  await once(stranger, "listening");
  onTestFinished(() => void stranger.close());
  const { port } = stranger.address() as { port: number };
  const dataDir = folderForTest("tollgate-several-");
  // It is checked before anything else, Redis included.
  const environment = { DATA_DIR: dataDir, PORT: String(port), WORKERS: "2", REDIS_URL: "redis://127.0.0.1:1" };
  const start = spawnGateway(environment);
  await expect(start).rejects.toThrow(`cannot listen on 127.0.0.1 port ${port}: taken`);
});

test("SIGTERM lets all of them leave, and cuts no answer", async () => {
  const children = gateway.children();
  const streams = Array.from({ length: 6 }, () => gateway.call(LONG));
  await inFlight(gateway, 6);
  expect(await gateway.terminate()).toEqual({ code: 0, signal: null });
  expect(charged(await Promise.all(streams))).toBe(6);
  expect(children.map(isRunning)).toEqual([false, false]);
  // The admin address does not answer: the command line opens the stores itself.
  const { code, json } = await tollgate("doctor");
  expect([code, json]).toMatchObject([0, { holds: 0, findings: [] }]);
});

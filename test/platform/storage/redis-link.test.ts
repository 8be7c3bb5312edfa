// The link to a failing Redis: every call is answered within its bound, and a command sent twice counts once.
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { GatewayError } from "../../../src/core/errors.ts";
import { meaningOf } from "../../../src/platform/storage/redis-failure.ts";
import { openRedis, type RedisLink } from "../../../src/platform/storage/redis-link.ts";
import { libraryOf } from "../../../src/platform/storage/redis-lua.ts";
import { eventually } from "../../support/gateway.ts";
import { HASTY_MS, PATIENT_MS } from "../../support/patience.ts";
import { REDIS_MS_MAX, type RedisServer, type RedisSettings, startRedis } from "../../support/redis.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

const COMMAND_MS = HASTY_MS;
/** Two sends and the wait for a connection between them, on a slow machine. */
const ANSWER_MS = 3 * COMMAND_MS + 10_000;

/** Counts an id once, however often it is sent, and how often it was sent. */
const ONCE = `
  redis.call('INCR', KEYS[1] .. ':runs')
  if redis.call('SETNX', KEYS[1] .. ':' .. ARGV[1], '1') == 1 then return {'counted', redis.call('INCR', KEYS[1])} end
  return {'exists', tonumber(redis.call('GET', KEYS[1]))}`;

let link: RedisLink | null = null;
let server: RedisServer | null = null;

async function start(settings?: RedisSettings): Promise<RedisServer> {
  server = await startRedis(settings);
  return server;
}

async function open(url: string, commandMsMax = COMMAND_MS): Promise<RedisLink> {
  link = await openRedis(url, { onBroken() {}, commandMsMax });
  return link;
}

async function openThrough(own: RedisServer, commandMsMax = COMMAND_MS) {
  const proxy = await startTcpProxy(own.port);
  onTestFinished(() => proxy.close());
  return { proxy, link: await open(`redis://127.0.0.1:${proxy.port}`, commandMsMax) };
}

/** Fails unless `call` is refused with `ledger_unavailable` within the bound. */
async function refused(call: () => Promise<unknown>): Promise<GatewayError> {
  const startMs = performance.now();
  const error = await call().then(
    (value) => Promise.reject(new Error(`it answered ${value}`)),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GatewayError);
  const refusal = error as GatewayError;
  expect(refusal.code).toBe("ledger_unavailable");
  expect(refusal.options.retryAfterSeconds).toBeGreaterThanOrEqual(1);
  expect(refusal.options.retryAfterSeconds).toBeLessThanOrEqual(5);
  expect(performance.now() - startMs).toBeLessThan(ANSWER_MS);
  return refusal;
}

/** The same as a library function. */
const LIBRARY = libraryOf(`local ops = {}\nfunction ops.once(KEYS, ARGV)${ONCE}\nend`, ["once"]);

const answers = (call: () => Promise<unknown>) => eventually(() => call().catch(() => undefined), "an answer");

beforeAll(async () => {
  await (await startRedis()).dispose();
}, REDIS_MS_MAX);

afterEach(async () => {
  await link?.close();
  await server?.dispose();
  link = null;
  server = null;
});

describe("what is sent", () => {
  test("a script is known to a server that has never seen it, or has forgotten it", async () => {
    const own = await start();
    const script = (await open(own.url, PATIENT_MS)).script("once", ONCE);
    expect(await script.run(["n"], ["a"])).toEqual(["counted", 1]);
    await own.send("SCRIPT", "FLUSH");
    const many = await Promise.all(["b", "c", "a"].map((id) => script.run(["n"], [id])));
    expect(many).toEqual([
      ["counted", 2],
      ["counted", 3],
      ["exists", 3],
    ]);
  });

  test("a script that is wrong is not taken for a lost connection", async () => {
    const own = await start();
    const wrong = (await open(own.url, PATIENT_MS)).script(
      "wrong",
      "return redis.call('INCR', KEYS[1], 'too', 'many')",
    );
    await expect(wrong.run(["n"], [])).rejects.toThrow(/Wrong number of args/);
    await expect(link?.call("NOSUCH")).rejects.toThrow(/unknown command/);
  });

  test("the connection is cut after the send: the script is sent once more and its id counts once", async () => {
    const own = await start();
    const { proxy, link } = await openThrough(own, PATIENT_MS);
    const script = link.script("once", ONCE);
    await script.run(["n"], ["warm"]);
    const cut = proxy.cutAfter("unlucky");
    const answer = await script.run(["n"], ["unlucky"]);
    await cut;
    expect(answer).toEqual(["exists", 2]);
    expect(await own.send("GET", "n:runs")).toBe("3");
  });

  test("the second sending follows at the cut, not when the first has run out of time", async () => {
    const own = await start();
    const { proxy, link } = await openThrough(own, 60_000);
    const script = link.script("once", ONCE);
    await script.run(["n"], ["warm"]);
    const cut = proxy.cutAfter("unlucky");
    const startMs = performance.now();
    expect(await script.run(["n"], ["unlucky"])).toEqual(["exists", 2]);
    await cut;
    expect(performance.now() - startMs).toBeLessThan(30_000);
  });

  test("a hundred are under way when the connection is cut: each is answered, each counts once", async () => {
    const own = await start();
    const { proxy, link } = await openThrough(own, PATIENT_MS);
    const script = link.script("once", ONCE);
    await script.run(["n"], ["warm"]);
    const cut = proxy.cutAfter("id-50");
    const ids = Array.from({ length: 100 }, (_, at) => `id-${at}`);
    const sent = await Promise.all(ids.map((id) => script.run(["n"], [id])));
    await cut;
    expect(sent).toHaveLength(100);
    expect(await own.send("GET", "n")).toBe("101");
  });
});

test.each([
  ["LOADING Redis is loading the dataset in memory", 2],
  ["MISCONF Errors writing to the AOF file: No space left on device", 5],
  ["NOREPLICAS Not enough good replicas to write.", 2],
  ["BUSY Redis is busy running a script.", 1],
])("a server that says %s is asked again in %d seconds", (message, retryAfterSeconds) => {
  const reply = Object.assign(new Error(message), { name: "ReplyError" });
  expect(meaningOf(reply)).toEqual({ kind: "refused", retryAfterSeconds });
});

describe("what fails", () => {
  test("nothing comes back any more: refused within the bound, and well again with the network", async () => {
    const { proxy, link } = await openThrough(await start());
    const script = link.script("once", ONCE);
    proxy.blackHole();
    await refused(() => script.run(["n"], ["a"]));
    const both = await Promise.all([refused(() => script.run(["n"], ["b"])), refused(() => link.call("GET", "n"))]);
    expect(both).toHaveLength(2);
    // The dead connection is dropped, so the next request fails at once.
    await eventually(async () => {
      const startMs = performance.now();
      await refused(() => link.serverEpochMs());
      return performance.now() - startMs < COMMAND_MS / 2 || undefined;
    }, "a refusal at once");
    proxy.pass();
    expect(await answers(() => script.run(["n"], ["c"]))).toMatchObject(["counted", expect.any(Number)]);
  });

  test("the server stands still: refused within the bound, and well again when it goes on", async () => {
    const own = await start();
    const script = (await open(own.url)).script("once", ONCE);
    own.freeze();
    await Promise.all(["a", "b", "c"].map((id) => refused(() => script.run(["n"], [id]))));
    own.thaw();
    expect(await answers(() => script.run(["n"], ["d"]))).toMatchObject([expect.any(String), expect.any(Number)]);
  });

  test("a slow network: an answer within the bound counts, and nothing is sent twice", async () => {
    const own = await start();
    const { proxy, link } = await openThrough(own, 2_000);
    proxy.pass(100);
    expect(await link.script("once", ONCE).run(["n"], ["a"])).toEqual(["counted", 1]);
    expect(await own.send("GET", "n:runs")).toBe("1");
  });

  test("a network so slow that answers come too late: refused, and well again when it is fast", async () => {
    const { proxy, link } = await openThrough(await start());
    const script = link.script("once", ONCE);
    await script.run(["n"], ["warm"]);
    // A round trip takes longer than a command may, but not so long that the connection counts as dead.
    proxy.pass(0.7 * COMMAND_MS);
    await refused(() => script.run(["n"], ["a"]));
    proxy.pass();
    expect(await answers(() => script.run(["n"], ["a"]))).toEqual(["exists", 2]);
  });

  test("the server is killed and started again: refused while it is gone, and what was acknowledged is there", async () => {
    const own = await start();
    const script = (await open(own.url)).script("once", ONCE);
    let changes = 0;
    link?.onServerChange(() => changes++);
    await script.run(["n"], ["a"]);
    await own.kill();
    await refused(() => script.run(["n"], ["b"]));
    await refused(() => script.run(["n"], ["b"]));
    expect(changes).toBe(0);
    await own.start();
    expect(await answers(() => script.run(["n"], ["a"]))).toEqual(["exists", 1]);
    await eventually(() => changes === 1 || undefined, "the news that the server is another");
    expect(await link?.uptimeMs()).toBeLessThan(30_000);
  });

  test("the connection alone is lost: the server is the same", async () => {
    const { proxy, link } = await openThrough(await start());
    let changes = 0;
    link.onServerChange(() => changes++);
    proxy.cut();
    await answers(() => link.call("GET", "n"));
    // A second check follows the first one, which the new connection caused.
    await link.uptimeMs();
    expect(changes).toBe(0);
  });

  test("the server is full: writes are refused before they begin, reads go on, and it heals", async () => {
    const own = await start();
    const script = (await open(own.url)).script("once", ONCE);
    await script.run(["n"], ["a"]);
    await own.send("CONFIG", "SET", "maxmemory", "1");
    const refusal = await refused(() => script.run(["n"], ["b"]));
    expect(String(refusal.cause)).toContain("OOM");
    expect(await link?.call("GET", "n:runs")).toBe("1");
    await own.send("CONFIG", "SET", "maxmemory", "0");
    expect(await script.run(["n"], ["b"])).toEqual(["counted", 2]);
  });

  test("the server has become a replica: writes are refused until it is a primary again", async () => {
    const own = await start();
    const script = (await open(own.url)).script("once", ONCE);
    await script.run(["n"], ["a"]);
    const upstream = await startRedis();
    onTestFinished(() => upstream.dispose());
    await own.send("REPLICAOF", "127.0.0.1", String(upstream.port));
    await refused(() => script.run(["n"], ["b"]));
    await own.send("REPLICAOF", "NO", "ONE");
    expect(await answers(() => script.run(["n"], ["c"]))).toMatchObject(["counted", expect.any(Number)]);
  });

  test("the server reads its files again: refused meanwhile", async () => {
    // Loading takes a second, and the server often checks its connections meanwhile.
    const slow = { "key-load-delay": "3000", "loading-process-events-interval-bytes": "1024" };
    const own = await start(slow);
    const { call, script } = await open(own.url);
    await Promise.all(Array.from({ length: 300 }, (_, at) => call("SET", `k${at}`, "v".repeat(200))));
    await own.send("BGREWRITEAOF");
    const done = /aof_rewrite_in_progress:0[\s\S]*aof_last_bgrewrite_status:ok/;
    await eventually(async () => done.test(String(await own.send("INFO", "persistence"))) || undefined, "one file");
    await own.kill();
    const started = own.start();
    const loading = await eventually(async () => {
      const refusal = await own.send("GET", "k1").then(String, String);
      return refusal.includes("LOADING") ? refusal : undefined;
    }, "a server that loads");
    expect(loading).toContain("LOADING");
    await refused(() => script("once", ONCE).run(["n"], ["a"]));
    await started;
    expect(await answers(() => script("once", ONCE).run(["n"], ["a"]))).toEqual(["counted", 1]);
  });

  test("closing ends what is under way", async () => {
    const { proxy, link } = await openThrough(await start());
    proxy.blackHole();
    const calls = Promise.all([1, 2, 3].map(() => refused(() => link.call("GET", "n"))));
    await link.close();
    await calls;
    await refused(() => link.call("GET", "n"));
  });
});

describe("Lua runs as a function of a library", () => {
  const ran = async (own: RedisServer, command: string) =>
    Number(
      new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(String(await own.send("INFO", "commandstats")))?.[1] ?? 0,
    );

  test("that the server keeps when it is started anew", async () => {
    const own = await start();
    const script = (await open(own.url)).script("once", ONCE, LIBRARY);
    expect(await script.run(["n"], ["a"])).toEqual(["counted", 1]);
    await own.kill();
    await own.start();
    expect(await answers(() => script.run(["n"], ["b"]))).toEqual(["counted", 2]);
    expect([await ran(own, "function\\|load"), await ran(own, "evalsha"), await ran(own, "fcall")]).toEqual([0, 0, 1]);
  });

  test("that is loaded again where somebody has removed it, by many calls at once", async () => {
    const own = await start();
    const script = (await open(own.url)).script("once", ONCE, LIBRARY);
    expect(await script.run(["n"], ["a"])).toEqual(["counted", 1]);
    await own.send("FUNCTION", "FLUSH");
    const ids = Array.from({ length: 20 }, (_, at) => `b${at}`);
    await Promise.all(ids.map((id) => script.run(["n"], [id])));
    expect(await own.send("GET", "n")).toBe("21");
    expect(await ran(own, "function\\|load")).toBe(2);
  });

  test.each([
    ["may not call functions", "-fcall"],
    ["may not load them", "-function|load"],
  ])("and as a script where the user %s", async (_, rule) => {
    const own = await start();
    await own.send("ACL", "SETUSER", "default", rule);
    const script = (await open(own.url)).script("once", ONCE, LIBRARY);
    expect(await script.run(["n"], ["a"])).toEqual(["counted", 1]);
    expect(await script.run(["n"], ["b"])).toEqual(["counted", 2]);
    expect(await own.send("GET", "n:runs")).toBe("2");
    expect(await ran(own, "evalsha")).toBe(2);
  });
});

// What the link to Redis knows about the servers: their settings, their replicas, failovers; and what the servers tell each other.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { openRedis, type RedisLink, type RedisLinkOptions } from "../../../src/platform/storage/redis-link.ts";
import { slotOf } from "../../../src/platform/storage/redis-slot.ts";
import { freePort } from "../../support/free-port.ts";
import { eventually } from "../../support/gateway.ts";
import { REDIS_MS_MAX, type RedisServer, startRedis, startRedisCluster, startSentinel } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";

const run = promisify(execFile);
const COMMAND_MS = 500;
const ends: (() => unknown)[] = [];

async function started<T extends { dispose(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const own = await starting;
  ends.unshift(() => own.dispose());
  return own;
}

async function open(url: string, more: Partial<RedisLinkOptions> = {}): Promise<RedisLink> {
  const link = await openRedis(url, { onBroken() {}, commandMsMax: COMMAND_MS, ...more });
  ends.unshift(() => link.close());
  return link;
}

const answers = (call: () => Promise<unknown>) => eventually(() => call().catch(() => undefined), "an answer");

/** A primary whose replica has caught up. */
async function startPair(): Promise<{ primary: RedisServer; replica: RedisServer }> {
  const primary = await started(startRedis());
  const replica = await started(startRedis({ replicaof: `127.0.0.1 ${primary.port}` }));
  await eventually(async () => (await primary.send("WAIT", "1", "50")) === 1 || undefined, "the replica");
  return { primary, replica };
}

beforeAll(async () => {
  await (await startRedis()).dispose();
}, REDIS_MS_MAX);

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

describe("the address", () => {
  test.each([
    ["http://127.0.0.1", /must look like/],
    ["redis://a:1,b:2", /several hosts/],
    ["redis+sentinel://127.0.0.1:26379", /must end in \/group/],
    ["redis+cluster://127.0.0.1:6379/1", /no database but 0/],
    ["redis://:secret@127.0.0.1:99999", /host:port/],
  ])("%s is refused in a sentence", async (url, sentence) => {
    await expect(open(url)).rejects.toThrow(sentence);
    await expect(open(url)).rejects.not.toThrow(/secret/);
  });

  test("where nobody listens, or the password is wrong, the start ends with a sentence", async () => {
    const port = await freePort();
    const soon = { onBroken() {}, openMsMax: 300 };
    await expect(openRedis(`redis://127.0.0.1:${port}`, soon)).rejects.toThrow(`127.0.0.1:${port} cannot be reached`);
    const own = await started(startRedis({ requirepass: "right" }));
    await expect(openRedis(`redis://:wrong@127.0.0.1:${own.port}`, { ...soon, openMsMax: 2_000 })).rejects.toThrow(
      /WRONGPASS/,
    );
    expect(await (await open(`redis://:right@127.0.0.1:${own.port}/3`)).call("PING")).toBe("PONG");
  });

  test("TLS is spoken where the address says so, and the certificate must be right", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-tls-"));
    ends.unshift(() => removeFolder(folder));
    const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    await run("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", certificate, "-days", "2", ...names]);
    const port = await freePort();
    const tls = {
      "tls-port": String(port),
      "tls-cert-file": certificate,
      "tls-key-file": key,
      "tls-auth-clients": "no",
    };
    await started(startRedis(tls));
    const link = await open(`rediss://127.0.0.1:${port}`, { authorities: readFileSync(certificate, "utf8") });
    expect(await link.call("PING")).toBe("PONG");
    const soon = { onBroken() {}, openMsMax: 300 };
    await expect(openRedis(`rediss://127.0.0.1:${port}`, soon)).rejects.toThrow(/certificate/);
  });
});

describe("the settings", () => {
  test("a server that keeps what it acknowledges has no problems", async () => {
    const own = await started(startRedis());
    expect(await (await open(own.url)).problems()).toEqual([]);
  });

  test.each([
    ["appendonly", "no", /appendonly is no and must be yes/],
    ["appendfsync", "everysec", /appendfsync is everysec and must be always/],
    ["maxmemory-policy", "allkeys-lru", /maxmemory-policy is allkeys-lru and must be noeviction/],
  ])("%s %s is a problem", async (name, value, sentence) => {
    const own = await started(startRedis({ [name]: value }));
    const problems = await (await open(own.url)).problems();
    expect(problems).toEqual([expect.stringMatching(sentence)]);
    expect(problems[0]).toContain(`127.0.0.1:${own.port}`);
  });
});

test("a server whose settings cannot be read is a problem", async () => {
  const own = await started(startRedis());
  const link = await open(own.url);
  await own.send("ACL", "SETUSER", "default", "-config");
  expect(await link.problems()).toEqual([expect.stringMatching(/cannot be read/)]);
});

test("a replica is no server for money", async () => {
  const { replica } = await startPair();
  expect(await (await open(replica.url)).problems()).toEqual([expect.stringMatching(/leads to a replica/)]);
});

describe("replicas", () => {
  const caughtUp = (link: RedisLink) =>
    eventually(async () => (await link.waitForReplicas("k")) || undefined, "the replica");
  /** A replica that has just started is busy with its files, and the machine may be too. */
  const patient = { commandMsMax: 2_000 };

  test("what is written is waited for on a replica, by many at once", async () => {
    const { primary, replica } = await startPair();
    const link = await open(primary.url, patient);
    expect(link.isReplicated()).toBe(true);
    await caughtUp(link);
    for (let at = 0; at < 20; at++) {
      await link.call("SET", "k", at);
      expect(await Promise.all([1, 2, 3, 4].map(() => link.waitForReplicas("k")))).toEqual(Array(4).fill(true));
      expect(await replica.send("GET", "k")).toBe(String(at));
    }
  });

  test("a replica that stands still is not waited for beyond the bound, and holds nothing else up", async () => {
    const { primary, replica } = await startPair();
    const link = await open(primary.url, patient);
    await caughtUp(link);
    replica.freeze();
    await link.call("SET", "k", "1");
    const startMs = performance.now();
    let answered = false;
    const waited = link.waitForReplicas("k").then((isThere) => {
      answered = true;
      return isThere;
    });
    await link.call("GET", "k");
    expect(answered).toBe(false);
    expect(await waited).toBe(false);
    expect(performance.now() - startMs).toBeLessThan(patient.commandMsMax + 10_000);
    replica.thaw();
    await caughtUp(link);
  });

  test("what was written to an old primary is not taken for what the replicas of the new one have", async () => {
    const { primary, replica } = await startPair();
    const third = await started(startRedis({ replicaof: `127.0.0.1 ${replica.port}` }));
    const proxy = await startTcpProxy(primary.port);
    ends.unshift(() => proxy.close());
    const link = await open(`redis://127.0.0.1:${proxy.port}`, patient);
    // The new primary has a replica; a writer still connected to the old one asks for the first time.
    await replica.send("REPLICAOF", "NO", "ONE");
    await eventually(async () => (await replica.send("WAIT", "1", "100")) === 1 || undefined, "the third");
    proxy.leadTo(replica.port, "keep");
    await link.call("SET", "k", "late");
    expect(await link.waitForReplicas("k")).toBe(false);
    expect([await primary.send("GET", "k"), await third.send("GET", "k")]).toEqual(["late", null]);
    proxy.cut();
    await eventually(
      async () => (await link.call("GET", "k").catch(() => "away")) === null || undefined,
      "the new one",
    );
    await link.call("SET", "k", "again");
    await caughtUp(link);
    expect(await third.send("GET", "k")).toBe("again");
  });

  test("without replicas there is nothing to wait for", async () => {
    const own = await started(startRedis());
    const link = await open(own.url);
    expect(link.isReplicated()).toBe(false);
    expect(await link.waitForReplicas("k")).toBe(true);
  });

  test("a name that leads to a new primary is followed, though the old one lives on as its replica", async () => {
    const { primary, replica } = await startPair();
    const proxy = await startTcpProxy(primary.port);
    ends.unshift(() => proxy.close());
    const link = await open(`redis://127.0.0.1:${proxy.port}`);
    await link.call("SET", "k", "before");
    proxy.leadTo(replica.port, "keep");
    await replica.send("REPLICAOF", "NO", "ONE");
    await primary.send("REPLICAOF", "127.0.0.1", String(replica.port));
    await answers(() => link.call("SET", "k", "after"));
    expect(await replica.send("GET", "k")).toBe("after");
  });

  test("sentinels name the server, and the one that takes over; the change is told", async () => {
    const { primary, replica } = await startPair();
    const sentinel = await started(startSentinel(primary.port));
    await eventually(async () => {
      return String(await sentinel.send("SENTINEL", "REPLICAS", "main")).includes(String(replica.port)) || undefined;
    }, "a sentinel that knows the replica");
    const link = await open(`redis+sentinel://127.0.0.1:${sentinel.port}/main`, patient);
    let changes = 0;
    link.onServerChange(() => changes++);
    await link.call("SET", "k", "before");
    await caughtUp(link);
    await primary.kill();
    await answers(() => link.call("SET", "k", "after"));
    expect(await replica.send("GET", "k")).toBe("after");
    await eventually(() => changes > 0 || undefined, "the news of the change");
  });
});

describe("a cluster", () => {
  test("keys are found wherever they are, moved slots are followed, and a missing node is told at once", async () => {
    const cluster = await started(startRedisCluster({ "cluster-node-timeout": "1000" }));
    const link = await open(cluster.url);
    expect(link.isCluster).toBe(true);
    expect(await link.problems()).toEqual([]);
    const script = link.script("add", "return redis.call('INCRBY', KEYS[1], ARGV[1])");
    const keys = Array.from({ length: 50 }, (_, at) => `{a:${at}}:b`);
    expect(await Promise.all(keys.map((key) => script.run([key], [5])))).toEqual(Array(50).fill(5));
    expect(slotOf("{a:1}:b")).toBe(await link.call("CLUSTER", "KEYSLOT", "{a:1}:b"));
    expect(slotOf("foo{}{bar}")).toBe(await link.call("CLUSTER", "KEYSLOT", "foo{}{bar}"));

    const ids = await Promise.all(cluster.nodes.map((node) => node.send("CLUSTER", "MYID").then(String)));
    const slot = slotOf("empty");
    const from = Math.floor(slot / Math.ceil(16_384 / 3));
    const to = (from + 1) % 3;
    for (const node of cluster.nodes) await node.send("CLUSTER", "SETSLOT", String(slot), "NODE", ids[to] ?? "");
    expect(await script.run(["empty"], [7])).toBe(7);
    expect(await cluster.nodes[to]?.send("GET", "empty")).toBe("7");

    const heard: string[] = [];
    await Promise.all(
      [1, 2, 3].map((at) =>
        link.subscribe(
          "keys",
          (text) => heard.push(`${at} ${text}`),
          () => {},
        ),
      ),
    );
    await link.publish("keys", "acct_1");
    await eventually(() => heard.length === 3 || undefined, "a message from every node");
    expect(heard.toSorted()).toEqual(["1 acct_1", "2 acct_1", "3 acct_1"]);

    let changes = 0;
    link.onServerChange(() => changes++);
    await cluster.nodes[from]?.kill();
    await eventually(async () => {
      const startMs = performance.now();
      const failed = await Promise.all(
        keys.map((key) =>
          script.run([key], [0]).then(
            () => 0,
            (error) => error.code,
          ),
        ),
      );
      expect(performance.now() - startMs).toBeLessThan(3 * COMMAND_MS + 10_000);
      return failed.every((code) => code === "ledger_unavailable") || undefined;
    }, "a cluster that is down");
    await cluster.nodes[from]?.start();
    await eventually(async () => {
      const sums = await Promise.all(keys.map((key) => script.run([key], [0]).catch(() => 0)));
      return sums.every((sum) => sum === 5) || undefined;
    }, "all keys");
    await eventually(() => changes > 0 || undefined, "the news that a server is another");
  });
});

describe("a channel", () => {
  test("messages arrive; where some may have been missed, that is said, and messages arrive again", async () => {
    const own = await started(startRedis());
    const proxy = await startTcpProxy(own.port);
    ends.unshift(() => proxy.close());
    const near = await open(own.url);
    const far = await open(`redis://127.0.0.1:${proxy.port}`);
    const heard: string[] = [];
    let gaps = 0;
    const subscription = await far.subscribe(
      "keys",
      (text) => heard.push(text),
      () => gaps++,
    );
    await near.publish("keys", "one");
    await eventually(() => heard.length === 1 || undefined, "the first message");
    expect([gaps, subscription.isListening()]).toEqual([0, true]);

    // A connection that has died silently.
    proxy.blackHole();
    await eventually(() => gaps > 0 || undefined, "the news of a loss");
    expect(subscription.isListening()).toBe(false);
    await near.publish("keys", "missed");
    proxy.pass();
    proxy.cut();
    await eventually(() => subscription.isListening() || undefined, "a new connection");
    expect(gaps).toBe(2);
    await near.publish("keys", "two");
    await eventually(() => heard.length === 2 || undefined, "the second message");
    expect(heard).toEqual(["one", "two"]);
  });

  test("closing ends what listens, and what would like to", async () => {
    const own = await started(startRedis());
    const link = await openRedis(own.url, { onBroken() {}, commandMsMax: COMMAND_MS });
    const first = await link.subscribe(
      "keys",
      () => {},
      () => {},
    );
    await own.kill();
    const second = link.subscribe(
      "keys",
      () => {},
      () => {},
    );
    await Promise.all([link.close(), expect(second).rejects.toThrow(/closed before/)]);
    expect(first.isListening()).toBe(false);
  });
});

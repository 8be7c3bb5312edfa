// Records in Redis: the contract on one server and in a cluster, and the effects of crashes, lost answers and racing writers.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Records } from "../../../src/platform/records/records.ts";
import { redisRecords } from "../../../src/platform/records/redis-records.ts";
import type { RedisLink } from "../../../src/platform/storage/redis-link.ts";
import { eventually } from "../../support/gateway.ts";
import { type ManualClock, manualClock } from "../../support/manual-clock.ts";
import { openLink, REDIS_MS_MAX, type RedisServer, startRedis, startRedisCluster } from "../../support/redis.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { recordsContract } from "./contract.ts";

const START = Date.UTC(2026, 0, 1);
const KINDS = ["redis", "redis cluster"] as const;
const PAYERS = ["acct:a", "acct:b", null];

interface Servers {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
}
const servers = {} as Record<(typeof KINDS)[number], Servers>;

beforeAll(async () => {
  const single = await startRedis();
  servers.redis = { url: single.url, nodes: [single] };
  servers["redis cluster"] = await startRedisCluster();
}, REDIS_MS_MAX);

afterAll(async () => {
  for (const { nodes } of Object.values(servers)) for (const node of nodes) await node.dispose();
});

for (const kind of KINDS) {
  recordsContract(kind, async () => {
    const clock = manualClock(START);
    let link = await openLink(servers[kind].url);
    let records = redisRecords(link, clock);
    return {
      clock,
      get records() {
        return records;
      },
      async reopen() {
        await link.close();
        link = await openLink(servers[kind].url);
        records = redisRecords(link, clock);
        return records;
      },
      dispose: () => link.close(),
    };
  });

  describe(`${kind}: what is left behind`, () => {
    let link: RedisLink;
    let clock: ManualClock;
    let records: Records;

    beforeAll(async () => {
      for (const node of servers[kind].nodes) await node.send("FLUSHALL");
      link = await openLink(servers[kind].url);
      clock = manualClock(START);
      records = redisRecords(link, clock);
    });
    afterAll(() => link.close());

    /** The number of keys, without the memory of deletes, which expires by itself. */
    const keyCount = async () => {
      const found = await Promise.all(servers[kind].nodes.map((node) => node.send("KEYS", "*") as Promise<string[]>));
      return found.flat().filter((key) => !key.includes(":deleted:")).length;
    };

    async function expectListed(ids: readonly string[]): Promise<number> {
      const rows = (await Promise.all(ids.map((id) => records.get("job", id)))).filter((row) => row !== null);
      const pages = await Promise.all(["acct:a", "acct:b"].map((payer) => records.list("job", payer, 100, null)));
      const listed = pages.flatMap((page) => page.rows);
      const byId = (one: { id: string }, other: { id: string }) => one.id.localeCompare(other.id);
      expect(listed.toSorted(byId)).toEqual(rows.filter(({ payer }) => payer !== null).toSorted(byId));
      return rows.length + pages.filter((page) => page.rows.length > 0).length;
    }

    /** Lists and records agree; and after a sweep nothing else is left. */
    async function expectWhole(ids: readonly string[]): Promise<void> {
      await expectListed(ids);
      // Longer than any time to live here, and than a creation may take.
      clock.advance(100_000);
      await records.sweep(10_000);
      expect(await keyCount()).toBe(await expectListed(ids));
    }

    async function clear(ids: readonly string[]): Promise<void> {
      for (const id of ids) await records.delete("job", id);
      await records.sweep(10_000);
      expect(await keyCount()).toBe(0);
    }

    /** Records whose process dies at operation number `last`, before it is sent. */
    function dyingRecords(last: number): Records {
      let sent = 0;
      const die = <T>(send: () => Promise<T>) => (sent++ < last ? send() : Promise.reject(new Error("died")));
      const dying: Pick<RedisLink, "isCluster" | "script" | "call"> = {
        isCluster: link.isCluster,
        call: (...words) => die(() => link.call(...words)),
        script(name, lua, library) {
          const { run } = link.script(name, lua, library);
          return { run: (keys, args) => die(() => run(keys, args)) };
        },
      };
      return redisRecords(dying, clock);
    }

    test("a process that dies between any two steps leaves no record unlisted and no line that is shown", async () => {
      const put = (on: Records, id: string, payer: string | null, ttlMs: number | null) =>
        on.put({ kind: "job", id, payer, value: "{}", ttlMs, ifVersion: null });
      for (let last = 0, done = false; !done; last++) {
        const dying = dyingRecords(last);
        try {
          await put(dying, "one", "acct:a", null);
          await put(dying, "two", null, 1_000);
          await put(dying, "one", "acct:b", 90_000);
          await put(dying, "two", "acct:a", null);
          await dying.delete("job", "one");
          await put(dying, "one", "acct:a", null);
          await dying.sweep(100);
          done = true;
        } catch (error) {
          expect(String(error)).toContain("died");
        }
        await expectWhole(["one", "two"]);
        await clear(["one", "two"]);
      }
    });

    test("a put that pauses until its line has been swept is listed all the same", async () => {
      let pauses = 0;
      const slow: Pick<RedisLink, "isCluster" | "script" | "call"> = {
        isCluster: link.isCluster,
        call: link.call,
        script(name, lua, library) {
          const { run } = link.script(name, lua, library);
          return {
            async run(keys, args) {
              const answer = await run(keys, args);
              if (name === "list_line" && pauses === 0) {
                pauses++;
                clock.advance(61_000);
                await records.sweep(10_000);
              }
              return answer;
            },
          };
        },
      };
      const row = { kind: "job", id: "slow", payer: "acct:a", value: "{}", ttlMs: null, ifVersion: null };
      expect(await redisRecords(slow, clock).put(row)).toBe(1);
      expect(pauses).toBe(link.isCluster ? 1 : 0);
      await expectWhole(["slow"]);
      await clear(["slow"]);
    });

    test("a record takes little beside its value, and nothing after its time", async () => {
      const bytes = async () => {
        let sum = 0;
        for await (const key of link.keys()) sum += Number(await link.call("MEMORY", "USAGE", key, "SAMPLES", 0));
        return sum;
      };
      const before = await bytes();
      const row = { kind: "vendor-id", payer: "acct:acct_0123456789abcdefghijk", ifVersion: null };
      await Promise.all(
        Array.from({ length: 200 }, (_, at) =>
          records.put({ ...row, id: `${at}`.padStart(64, "0"), value: "x".repeat(100), ttlMs: 90 * 86_400_000 }),
        ),
      );
      expect((await bytes()) - before).toBeLessThan(200 * (100 + 1_500));
      clock.advance(90 * 86_400_000);
      // Those of earlier tests expire as well.
      expect(await records.sweep(1_000)).toBeGreaterThanOrEqual(200);
      expect(await bytes()).toBeLessThanOrEqual(before);
    });

    test("of writers that race over a few records, none leaves a record unlisted", async () => {
      const other = await openLink(servers[kind].url);
      onTestFinished(() => other.close());
      const ids = ["x", "y", "z"];
      const both = [records, redisRecords(other, clock)];
      await Promise.all(
        Array.from({ length: 600 }, async (_, at) => {
          const on = both[at % 2] ?? records;
          const id = ids[Math.floor(at / 2) % 3] ?? "x";
          if (at % 5 === 0) return on.delete("job", id);
          if (at % 97 === 0) return on.sweep(10);
          const payer = PAYERS[Math.floor(at / 7) % 3] ?? null;
          return on.put({
            kind: "job",
            id,
            payer,
            value: String(at),
            ttlMs: at % 11 === 0 ? 0 : null,
            ifVersion: null,
          });
        }),
      );
      await expectWhole(ids);
      await clear(ids);
    });
  });
}

describe("redis: answers that are lost", () => {
  async function throughProxy() {
    const proxy = await startTcpProxy(servers.redis.nodes[0]?.port ?? 0);
    const link = await openLink(`redis://127.0.0.1:${proxy.port}`);
    onTestFinished(async () => {
      await link.close();
      await proxy.close();
    });
    return { proxy, records: redisRecords(link) };
  }

  test("a put whose answer was lost is told its own version, not that somebody else was faster", async () => {
    const { proxy, records } = await throughProxy();
    const row = { kind: "job", id: "unlucky", payer: "acct:a", value: "1", ttlMs: null };
    expect(await records.put({ ...row, ifVersion: 0 })).toBe(1);
    for (const version of [1, 2, 3]) {
      const cut = proxy.cutAfter("unlucky");
      expect(await records.put({ ...row, value: "2", ifVersion: version })).toBe(version + 1);
      await cut;
    }
    expect((await records.list("job", "acct:a", 10, null)).rows).toHaveLength(1);
  });

  test("a delete whose answer was lost still says that it deleted", async () => {
    const { proxy, records } = await throughProxy();
    await records.put({ kind: "job", id: "luckless", payer: null, value: "1", ttlMs: null, ifVersion: null });
    const cut = proxy.cutAfter("luckless");
    expect(await records.delete("job", "luckless")).toBe(true);
    await cut;
    expect(await records.delete("job", "luckless")).toBe(false);
  });

  test("without a clock of the test's, the server's own ends a record", async () => {
    const { records } = await throughProxy();
    const before = Date.now();
    await records.put({ kind: "job", id: "brief", payer: "acct:c", value: "1", ttlMs: 2_000, ifVersion: null });
    const row = await records.get("job", "brief");
    expect(row?.createdAtMs).toBeGreaterThanOrEqual(before - 1_000);
    await eventually(async () => ((await records.get("job", "brief")) === null ? true : undefined), "its end");
    expect((await records.list("job", "acct:c", 10, null)).rows).toEqual([]);
  });
});

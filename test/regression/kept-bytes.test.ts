// The stored answers of an account's calls with Idempotency-Keys are bounded, in a file and over Redis with two gateways, and nothing is
// charged twice.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const SETTINGS = { KEPT_ANSWERS_MIB: "1" };
const MIB = 1024 * 1024;
const EVENTS_BYTES = 16 * 1024;

interface Stage {
  readonly gateways: readonly AcmeGateway[];
  /** Bytes of everything stored for a day, of all accounts. */
  keptBytes(): Promise<number>;
  dispose(): Promise<void>;
}

async function inOneFile(): Promise<Stage> {
  const gateway = await startAcmeGateway(SETTINGS);
  return {
    gateways: [gateway],
    async keptBytes() {
      // Only its process may open the file itself.
      const path = join(gateway.dataDir, "copy.db");
      await gateway.admin("POST", "/admin/v1/backup", { path });
      const database = new DatabaseSync(path, { readOnly: true });
      const { bytes } = database
        .prepare(
          `SELECT (SELECT COALESCE(SUM(length(value) + length(id) + 100), 0) FROM record WHERE expires_at IS NOT NULL)
             + (SELECT COUNT(*) * 300 FROM idempotency) AS bytes`,
        )
        .get() as { bytes: number };
      database.close();
      rmSync(path);
      return bytes;
    },
    dispose: () => gateway.stop(),
  };
}

async function overRedis(): Promise<Stage> {
  const redis = await anyRedis();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-kept-"));
  const shared = { ...SETTINGS, REDIS_URL: redis.url, ARCHIVE_URL: `file://${folder}/archive.db` };
  const one = await startAcmeGateway(shared);
  const own = { ACME_BASE_URL: `${one.vendor.url}/v1`, BULK_BASE_URL: one.vendor.url };
  const gateways = [one, await startAcmeGateway({ ...shared, ...own })];
  return {
    gateways,
    async keptBytes() {
      const keys = (await redis.send("KEYS", "*")) as string[];
      const kept = keys.filter((key) => /^\{r:|:i:/.test(key) && !key.includes(":deleted:"));
      const sizes = await Promise.all(kept.map((key) => redis.send("MEMORY", "USAGE", key, "SAMPLES", "0")));
      return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
    },
    async dispose() {
      for (const gateway of gateways) await gateway.stop();
      await redis.dispose();
      removeFolder(folder);
    },
  };
}

describe.each([
  ["a file", inOneFile],
  ["Redis", overRedis],
])("what an account's calls keep in %s is bounded", (_, open) => {
  let stage: Stage;
  let first: AcmeGateway;
  beforeAll(async () => {
    stage = await open();
    first = stage.gateways[0] as AcmeGateway;
  }, REDIS_MS_MAX);
  afterAll(() => stage.dispose());

  /** The gateways take turns. */
  let turn = 0;
  const call = (account: { key: string }, action: string, params: unknown, key: string) => {
    const gateway = stage.gateways[turn++ % stage.gateways.length] ?? first;
    return gateway.run(account.key, action, params, { "idempotency-key": key });
  };

  it("by the oldest answers: theirs is not given again, and they are neither run nor charged again", async () => {
    const account = await first.live({ creditCents: 1_000 });
    first.vendor.answers({ body: { rows: "x".repeat(300_000) } });
    const before = await stage.keptBytes();
    const told = [];
    for (let at = 0; at < 12; at++) told.push(await call(account, "bulk/dump", {}, `long-${at}`));
    expect((await stage.keptBytes()) - before).toBeLessThan(1.5 * MIB);
    const asked = first.vendor.asked.length;
    for (const at of [9, 10, 11]) {
      const again = await call(account, "bulk/dump", {}, `long-${at}`);
      expect([at, again.status, again.json.data]).toEqual([at, 200, told[at]?.json.data]);
      expect(again.json.transaction_id).toBe(told[at]?.json.transaction_id);
    }
    for (const at of [0, 4, 8]) {
      const again = await call(account, "bulk/dump", {}, `long-${at}`);
      expect([at, again.status, again.json.error]).toEqual([at, 409, "replay_unavailable"]);
      expect(again.json.data).toMatchObject({ transaction_id: told[at]?.json.transaction_id });
    }
    expect(first.vendor.asked).toHaveLength(asked);
    expect(await first.transactions(account)).toHaveLength(12);
    expect(await first.balanceCents(account)).toBe(1_000 - 12 * 2);
  });

  it("by the newest refusals: they keep nothing, are asked for again for nothing, and push out no answer", async () => {
    const account = await first.live({ creditCents: 1_000 });
    first.vendor.answers({ body: { order: "o1" } });
    const paid = await call(account, "acme/buy", { sku: "x" }, "paid");
    first.vendor.answers({ status: 400, body: { message: `no such sku ${"y".repeat(2_000)}` } });
    const before = await stage.keptBytes();
    for (let at = 0; at < 60; at++)
      expect((await call(account, "acme/buy", { sku: "x" }, `no-${at}`)).status).toBe(400);
    const full = await stage.keptBytes();
    expect(full - before).toBeLessThan(MIB / 8);
    for (let at = 60; at < 200; at++) await call(account, "acme/buy", { sku: "x" }, `no-${at}`);
    expect(await stage.keptBytes()).toBeLessThan(full + MIB / 64);
    const asked = first.vendor.asked.length;
    const early = await call(account, "acme/buy", { sku: "x" }, "no-0");
    expect([early.status, early.headers.get("idempotent-replayed")]).toEqual([400, "true"]);
    expect(first.vendor.asked).toHaveLength(asked);
    const late = await call(account, "acme/buy", { sku: "x" }, "no-199");
    expect([late.status, late.headers.get("idempotent-replayed")]).toEqual([400, null]);
    expect(first.vendor.asked).toHaveLength(asked + 1);
    expect((await call(account, "acme/buy", { sku: "x" }, "paid")).text).toBe(paid.text);
    expect(await first.balanceCents(account)).toBe(995);
  });

  it("by nothing for a vendor's own trouble, however often", async () => {
    const account = await first.live({ creditCents: 100 });
    first.vendor.answers({ status: 503, body: { message: "y".repeat(2_000) } });
    await call(account, "acme/search", { q: "tea" }, "trouble-first");
    const before = await stage.keptBytes();
    for (let at = 0; at < 20; at++) {
      expect((await call(account, "acme/search", { q: "tea" }, `trouble-${at}`)).status).toBe(500);
    }
    // A key's first use and a resting route are stored as events; twenty answers would be forty thousand bytes.
    expect(await stage.keptBytes()).toBeLessThanOrEqual(before + EVENTS_BYTES);
  });

  it("and many at once keep no more", async () => {
    const account = await first.live({ creditCents: 1_000 });
    first.vendor.answers({ body: { rows: "x".repeat(200_000) } });
    const before = await stage.keptBytes();
    const calls = Array.from({ length: 40 }, (_, at) => call(account, "bulk/dump", {}, `many-${at}`));
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
    expect((await stage.keptBytes()) - before).toBeLessThan(1.5 * MIB);
    expect(await first.balanceCents(account)).toBe(1_000 - 80);
    expect(await first.doctor()).toEqual([]);
  });
});

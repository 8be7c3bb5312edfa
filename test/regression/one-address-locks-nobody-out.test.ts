// A flood of made-up keys from one address: keys from other addresses are still looked up, known or not, in every process.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mintKey } from "../../src/money/accounts/secrets.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const PROXIED = { TRUST_PROXY: "1" };
const GOOD_KEYS = 20;

async function ask(gateway: TestGateway, key: string, address: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "x-forwarded-for": address };
  const response = await fetch(`${gateway.url}/api/v1/account`, { headers });
  await response.arrayBuffer();
  return response.status;
}

/** Floods each gateway from one address while never-seen keys are used from another. */
async function expectNobodyLockedOut(gateways: readonly [TestGateway, ...TestGateway[]]): Promise<void> {
  const [first] = gateways;
  const { accountId } = await first.account();
  const keys: string[] = [];
  for (let made = 0; made < GOOD_KEYS; made++) {
    const { json } = await first.admin("POST", `/admin/v1/accounts/${accountId}/keys`, {});
    keys.push(String(json.api_key));
  }
  const flood = gateways.map((gateway) =>
    Promise.all(Array.from({ length: 700 }, () => ask(gateway, mintKey(false).secret, "203.0.113.9"))),
  );
  const good = await Promise.all(gateways.flatMap((gateway) => keys.map((key) => ask(gateway, key, "198.51.100.7"))));
  expect(new Set(good)).toEqual(new Set([200]));
  for (const answers of await Promise.all(flood)) {
    expect(answers.filter((status) => status !== 401 && status !== 429)).toEqual([]);
    // The ledger's lookups: in two windows, where a minute ended meanwhile.
    expect(answers.filter((status) => status === 401).length).toBeLessThanOrEqual(240);
  }
}

test("one address that makes keys up locks nobody else out, over SQLite", async () => {
  const gateway = await startTestGateway(PROXIED);
  onTestFinished(() => gateway.stop());
  await expectNobodyLockedOut([gateway]);
});

test(
  "one address that makes keys up locks nobody else out, over Redis with two processes",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
    const redis = await anyRedis();
    const shared = { ...PROXIED, REDIS_URL: redis.url, ARCHIVE_URL: `file://${folder}/archive.db` };
    const gateways = [await startTestGateway(shared), await startTestGateway(shared)] as const;
    onTestFinished(async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await redis.dispose();
      removeFolder(folder);
    });
    await expectNobodyLockedOut(gateways);
  },
  REDIS_MS_MAX,
);

// One account on two processes sharing a Redis: its limits on cost to us and on holds are the same as on one.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { type AcmeGateway, startAcmeGateway } from "../actions/run/acme-gateway.ts";
import type { TestAccount } from "../support/gateway.ts";
import { anyRedis, REDIS_MS_MAX } from "../support/redis.ts";
import { removeFolder } from "../support/remove-folder.ts";

const BOUND_CENTS = 2;
/** The vendor's charge for a search that finds nothing. */
const MISS_CENTS = 0.5;
const IN_FLIGHT = 8;

let one: AcmeGateway;
let other: AcmeGateway;
beforeAll(async () => {
  const redis = await anyRedis();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  const settings = {
    ARCHIVE_URL: `file://${folder}/archive.db`,
    REDIS_URL: redis.url,
    SIGNING_SECRET: "s".repeat(32),
    UNPAID_COST_CENTS: String(BOUND_CENTS),
  };
  one = await startAcmeGateway(settings);
  other = await startAcmeGateway(settings);
  for (const { vendor } of [one, other]) vendor.answers({ body: { results: [] } });
  return async () => {
    await one.stop();
    await other.stop();
    await redis.dispose();
    removeFolder(folder);
  };
}, REDIS_MS_MAX);

const misses = (account: TestAccount, count: number) =>
  Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const gateway = at % 2 === 0 ? one : other;
      const { status, json } = await gateway.run(account, "acme/search", { q: "nothing" });
      return status === 200 ? "free" : String(json.error);
    }),
  );

async function unpaidCents({ accountId }: TestAccount): Promise<number> {
  const { json } = await one.admin("GET", `/admin/v1/accounts/${accountId}`);
  return (json.unpaid as { today_nano_usd: number }).today_nano_usd / 1e7;
}

describe("two hundred calls at once whose vendor is paid for nothing", () => {
  it("cost us the bound and what was under way when it was met, and no call is charged or left held", async () => {
    const eve = await one.live({ creditCents: 100, inFlight: IN_FLIGHT });
    const said = await misses(eve, 200);
    expect(await unpaidCents(eve)).toBe(said.filter((word) => word === "free").length * MISS_CENTS);
    expect(await unpaidCents(eve)).toBeLessThanOrEqual(BOUND_CENTS + IN_FLIGHT * MISS_CENTS);
    expect(new Set(said)).toEqual(
      new Set(["free", "concurrency_limit", "unpaid_costs"].filter((word) => said.includes(word))),
    );
    expect(await one.balanceCents(eve)).toBe(100);
    expect(await one.heldCents(eve)).toBe(0);
  });

  it("are refused at both from then on, and another's are not", async () => {
    const [eve, ada] = [await one.live({ creditCents: 100 }), await other.live({ creditCents: 100 })];
    for (let round = 0; round < 4; round++) await misses(eve, 2);
    expect(await misses(eve, 4)).toEqual(["unpaid_costs", "unpaid_costs", "unpaid_costs", "unpaid_costs"]);
    expect(await misses(ada, 2)).toEqual(["free", "free"]);
  });
});

describe("an account of one cent", () => {
  it("buys one call of a cent at two processes at once, whoever is asked first", async () => {
    const eve = await one.live({ creditCents: 1 });
    for (const { vendor } of [one, other]) vendor.answers({ body: { results: ["found"] } });
    const said = await misses(eve, 40);
    expect(said.filter((word) => word === "free")).toHaveLength(1);
    expect(await one.balanceCents(eve)).toBe(0);
    expect(await other.transactions(eve)).toHaveLength(1);
    expect(await one.doctor()).toEqual([]);
  });
});

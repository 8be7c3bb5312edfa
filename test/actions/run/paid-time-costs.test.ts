// Browsers with proxies, at a gateway over either store: how many an account can have at once.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeBrowserbase, startBrowserbase } from "../../support/browserbase.ts";
import type { TestAccount } from "../../support/gateway.ts";
import { anyRedis, type LentRedis, REDIS_MS_MAX } from "../../support/redis.ts";
import { type AcmeGateway, startAcmeGateway } from "./acme-gateway.ts";

describe.each(["SQLite", "Redis"])("over %s", (store) => {
  let vendor: FakeBrowserbase;
  let redis: LentRedis | null = null;
  let gateway: AcmeGateway;
  beforeAll(async () => {
    vendor = await startBrowserbase();
    redis = store === "Redis" ? await anyRedis() : null;
    gateway = await startAcmeGateway({
      ...{ BROWSERBASE_API_KEY: "bb-key", BROWSERBASE_BASE_URL: vendor.url },
      ...(redis === null ? {} : { REDIS_URL: redis.url }),
    });
  }, REDIS_MS_MAX);
  afterAll(async () => {
    await gateway.stop();
    await redis?.dispose();
    await vendor.close();
  });

  const create = (account: TestAccount, params: object) =>
    gateway.run(account, "browserbase/create_session", { proxies: { country: "DE" }, ...params });

  it("an account has ten of them at once, however many it asks for together", async () => {
    const eve = await gateway.live({ creditCents: 100 });
    const answers = await Promise.all(Array.from({ length: 40 }, () => create(eve, {})));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = answers.filter(({ status }) => status !== 200).map(({ json }) => json.error);
    expect(new Set(refused)).toEqual(new Set(["too_many_inflight"]));
    const [browser] = vendor.alive();
    expect((await gateway.run(eve, "browserbase/release_session", { session_id: browser })).status).toBe(200);
    expect((await create(eve, {})).status).toBe(200);
    expect((await create(eve, {})).json.error).toBe("too_many_inflight");
    expect(await gateway.doctor()).toEqual([]);
  });
});

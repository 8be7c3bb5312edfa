// Redis's acknowledgement of a hold is lost: the gateway repeats the request, and the call continues as if nothing had happened.
import { expect, onTestFinished, test } from "vitest";
import { callChat } from "../support/chat-call.ts";
import { startTestGateway } from "../support/gateway.ts";
import { REDIS_MS_MAX, startRedis } from "../support/redis.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

test(
  "a call whose hold is acknowledged only when it is asked for again is served and charged once",
  async () => {
    const redis = await startRedis();
    const proxy = await startTcpProxy(redis.port);
    const gateway = await startTestGateway({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
    onTestFinished(async () => {
      await gateway.stop();
      await proxy.close();
      await redis.dispose();
    });
    const { key, accountId } = await gateway.account();
    const body = { model: "sandbox/ok", messages: [{ role: "user", content: "hello" }] };
    // With the first call Redis learns the script; the cut then hits the answer to a hold.
    expect((await callChat(body, { url: gateway.url, key })).acknowledged).toBe(true);
    const cut = proxy.cutAfter("tx_");
    const [seen] = await Promise.all([callChat(body, { url: gateway.url, key }), cut]);
    expect([seen.status, seen.acknowledged]).toEqual([200, true]);
    const { json } = await gateway.admin("GET", `/admin/v1/accounts/${accountId}`);
    expect(json).toMatchObject({ held_cents: 0 });
    expect(await gateway.doctor()).toEqual([]);
  },
  REDIS_MS_MAX,
);

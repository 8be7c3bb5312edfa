// Details that a careful client checks: the window in which a refusal counts, the challenge of a 401, the meaning of an empty key.
import { expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "50" }));

const CHAT = "/api/llm/v1/chat/completions";

async function ask(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(`${gateway.url}${path}`, init);
  await response.clone().arrayBuffer();
  return response;
}

test("what the edge refuses, and what is open to all, counts against the account of a good key", async () => {
  const { key } = await gateway.account({ requestsPerMinute: 1_000 });
  const headers = { authorization: `Bearer ${key}` };
  const asked: [string, RequestInit, number][] = [
    [CHAT, { method: "DELETE", headers }, 405],
    [CHAT, { method: "POST", headers: { ...headers, "content-type": "text/plain" }, body: "a" }, 415],
    ["/api/v1/agents", { method: "POST", headers, body: Buffer.alloc(100_000, " ") }, 413],
    ["/nothing", { headers }, 404],
    ["/api/llm/v1/models", { headers }, 200],
    ["/api/run", { headers }, 200],
  ];
  for (const [at, [path, init, status]] of asked.entries()) {
    const response = await ask(path, init);
    expect([path, response.status]).toEqual([path, status]);
    expect(response.headers.get("ratelimit-limit")).toBe("1000");
    expect(Number(response.headers.get("ratelimit-remaining"))).toBeGreaterThanOrEqual(999 - asked.length);
    expect(at).toBeLessThan(asked.length);
  }
  const stranger = await ask("/nothing", { headers: { authorization: "Bearer no-key" } });
  expect(stranger.headers.get("ratelimit-limit")).toBe("50");
});

test("a 401 says how to authenticate", async () => {
  const response = await ask("/api/v1/account", {});
  expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="tollgate"']);
});

test("an empty Idempotency-Key is refused: it would make nothing safe to send again", async () => {
  const { key } = await gateway.account();
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": "" };
  const message = [{ role: "user", content: "hello" }];
  const chat = { method: "POST", headers, body: JSON.stringify({ model: "sandbox/ok", messages: message }) };
  const run = { method: "POST", headers, body: JSON.stringify({ q: "tides" }) };
  for (const [path, init] of [
    [CHAT, chat],
    ["/api/run/brave/search", run],
  ] as const) {
    const response = await ask(path, init);
    expect([path, response.status]).toEqual([path, 400]);
    expect(await response.text()).toContain("Idempotency-Key");
  }
});

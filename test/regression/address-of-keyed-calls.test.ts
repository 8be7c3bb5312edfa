// Looking up a caller's address is a system call that took 6 % of a call's time, so a call with a known key never does it.
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { HttpReply } from "../../src/edge/http/http-reply.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let headers: Record<string, string>;
beforeAll(async () => {
  gateway = await startTestGateway({});
  const { key } = await gateway.account({ kind: "sandbox", creditCents: 1_000 });
  headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  // A key that is new to the process may be a guess, which is counted by address.
  await post("/api/run/brave/search", { q: "tea" });
  return () => gateway.stop();
});
afterEach(() => vi.restoreAllMocks());

function post(path: string, body: unknown, sent = headers): Promise<Response> {
  return fetch(gateway.url + path, { method: "POST", headers: sent, body: JSON.stringify(body) });
}

describe("the address of a caller", () => {
  it.each([
    ["/api/llm/v1/chat/completions", { model: "core/cheap", messages: [{ role: "user", content: "Hello." }] }],
    ["/api/run/brave/search", { q: "tea" }],
  ])("is not asked for at %s where the key is known", async (path, body) => {
    const asked = vi.spyOn(HttpReply.prototype, "remoteAddress");
    const response = await post(path, body);
    expect(response.status).toBe(200);
    expect(asked).not.toHaveBeenCalled();
  });

  it("is asked for where it has none", async () => {
    const asked = vi.spyOn(HttpReply.prototype, "remoteAddress");
    await post("/api/run/brave/search", { q: "tea" }, { "content-type": "application/json" });
    expect(asked).toHaveBeenCalled();
  });
});

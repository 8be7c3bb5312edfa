// A request that is the caller's mistake is refused, and leaves nothing in the log that looks like a gateway error.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account();
});
afterAll(() => gateway.stop());

const faults = () => gateway.lines().filter((line) => Number((JSON.parse(line) as { level: number }).level) >= 50);

async function own(method: string, path: string, body?: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  return (await fetch(`${gateway.url}${path}`, init)).status;
}

describe("the log", () => {
  it.each([
    ["GET", "/api/v1/agents/key_none/why", undefined, 404],
    ["POST", "/api/v1/agents", { label: 5 }, 400],
    ["GET", "/api/v1/transactions?limit=0", undefined, 400],
    ["GET", "/api/v1/events?limit=x", undefined, 400],
    ["POST", "/api/v1/webhooks", { url: "nowhere" }, 400],
    ["GET", "/api/llm/v1/generation?id=tx_none", undefined, 404],
  ] as const)("has no fault for %s %s", async (method, path, body, status) => {
    expect(await own(method, path, body)).toBe(status);
    expect(faults()).toEqual([]);
  });

  it("has none for a mistake of the operator", async () => {
    expect((await gateway.admin("GET", "/admin/v1/accounts/acct_none")).status).toBe(404);
    expect((await gateway.admin("POST", "/admin/v1/accounts", { name: "x", kind: "none" })).status).toBe(400);
    expect(faults()).toEqual([]);
  });
});

// What a restricted key can still do: paused, limited to some services, at its ceiling, or in a frozen account.
import { expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import type { TestAccount } from "../../support/gateway.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const gateway = forFile(await startAcmeGateway());
gateway.vendor.answers({ body: { results: ["a"], ok: 1 } });

/** An agent key of the account, and a function to change it. */
async function agentKey(account: TestAccount, fields: Record<string, unknown>) {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const send = async (method: string, path: string, body: unknown) => {
    const response = await fetch(`${gateway.url}${path}`, { method, headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  };
  const made = await send("POST", "/api/v1/agents", { label: "agent", ...fields });
  return {
    key: String(made.api_key),
    patch: (change: Record<string, unknown>) => send("PATCH", `/api/v1/agents/${made.id}`, change),
  };
}

it("a paused key is refused what costs, and may ask what is free", async () => {
  const account = await gateway.live();
  const agent = await agentKey(account, {});
  await agent.patch({ paused: true });
  const paid = await gateway.run(agent.key, "acme/search", { q: "tea" });
  expect([paid.status, paid.json.error]).toEqual([403, "key_paused"]);
  expect((await gateway.run(agent.key, "acme/free")).status).toBe(200);
});

it("a key with a list of services calls those alone, and is told so before its params are looked at", async () => {
  const account = await gateway.live();
  const agent = await agentKey(account, { services: ["bulk", "acme/search"] });
  expect((await gateway.run(agent.key, "acme/search", { q: "tea" })).status).toBe(200);
  expect((await gateway.run(agent.key, "bulk/dump")).status).toBe(200);
  const refused = await gateway.run(agent.key, "acme/buy", { wrong: 1 });
  expect([refused.status, refused.json.error]).toEqual([403, "key_not_allowed"]);
});

it("a ceiling bounds actions to the fraction of a cent", async () => {
  const account = await gateway.live({ creditCents: 100 });
  const agent = await agentKey(account, { ceiling_cents: 1, ceiling_period: "day" });
  const ten = Array.from({ length: 10 }, String);
  expect((await gateway.run(agent.key, "acme/ranged", { items: ten.slice(1) })).status).toBe(200);
  const over = await gateway.run(agent.key, "acme/ranged", { items: ["a", "b"] });
  expect(over).toMatchObject({ status: 402, json: { error: "api_key_limit_exceeded", data: { affordable_calls: 0 } } });
  expect((await gateway.run(agent.key, "acme/ranged", { items: ["a"] })).status).toBe(200);
  expect((await gateway.run(account, "acme/buy", { sku: "x" })).status).toBe(200);
});

it("of 40 calls at once against a balance for 7, exactly 7 pass and the vendor is asked 7 times", async () => {
  const account = await gateway.live({ creditCents: 35 });
  gateway.vendor.answers({ body: { results: ["a"], ok: 1 } });
  const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.run(account, "acme/buy", { sku: "x" })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
  expect(new Set(answers.filter(({ status }) => status !== 200).map(({ json }) => json.error))).toEqual(
    new Set(["insufficient_balance"]),
  );
  expect(gateway.vendor.asked).toHaveLength(7);
  expect(await gateway.balanceCents(account)).toBe(0);
  expect(await gateway.doctor()).toEqual([]);
});

it("a frozen account may not even ask what is free", async () => {
  const account = await gateway.live();
  await gateway.admin("PATCH", `/admin/v1/accounts/${account.accountId}`, { frozen: true });
  expect((await gateway.run(account, "acme/free")).json.error).toBe("account_frozen");
});

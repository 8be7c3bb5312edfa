// The official client pays for tools without a key: the challenge is a result, and _meta carries the payment and the receipt.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import type { Requirements } from "../../../src/edge/x402/challenge.ts";
import { startPaidGateway } from "../x402/paid-gateway.ts";
import { decoded, keyWallet } from "../x402/wallet.ts";

const { chain, gateway } = await startPaidGateway({ X402_SANDBOX: "1" });
gateway.vendor.answers({ body: { results: ["found"] } });

async function clientOf(headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: "an agent", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { requestInit: { headers } });
  await client.connect(transport);
  return client;
}
const call = { name: "run_action", arguments: { action: "acme/search", params: { q: "tea" } } };
/** The payment as an object, as a tool call carries it. */
const paying = (payment: string) => ({ ...call, _meta: { "x402/payment": decoded(payment) } });
const askedOf = (result: Awaited<ReturnType<Client["callTool"]>>) =>
  (result.structuredContent as { accepts: Requirements[] }).accepts[0] as Requirements;

describe("a tool without a key", () => {
  it("is asked for a payment, and answers with a receipt once it is paid", async () => {
    const client = await clientOf();
    const unpaid = await client.callTool(call);
    expect([unpaid.isError, unpaid.structuredContent]).toMatchObject([true, { x402Version: 2 }]);
    expect(JSON.parse((unpaid.content as { text: string }[])[0]?.text ?? "")).toEqual(unpaid.structuredContent);
    const wallet = chain.wallet(1_000_000);
    const payment = wallet.pay(askedOf(unpaid));
    const paid = await client.callTool(paying(payment));
    expect(paid.structuredContent).toMatchObject({ ok: true, data: { results: ["found"] }, charged_cents: 1 });
    expect(paid._meta?.["x402/payment-response"]).toMatchObject({ success: true, payer: wallet.address });
    await client.callTool(paying(payment));
    expect(chain.balance(wallet.address)).toBe(1_000_000 - 10_000);
    await client.close();
  });

  it("is asked again where the payment is not good, and told where it is none", async () => {
    const client = await clientOf();
    const asked = askedOf(await client.callTool(call));
    const short = await client.callTool(paying(chain.wallet(1_000_000).pay(asked, { value: "1" })));
    expect([short.isError, askedOf(short).amount]).toEqual([true, "10000"]);
    const none = await client.callTool({ ...call, _meta: { "x402/payment": { x402Version: 2 } } });
    expect(none.structuredContent).toMatchObject({ ok: false, error: "bad_request" });
    await client.close();
  });

  it("of the sandbox is paid with play money", async () => {
    const asked = gateway.vendor.asked.length;
    const client = await clientOf({ "x-tollgate-sandbox": "1" });
    const requirements = askedOf(await client.callTool(call));
    expect(requirements.network).toBe("eip155:4020402402");
    const paid = await client.callTool(paying(keyWallet().pay(requirements)));
    expect(paid.structuredContent).toMatchObject({ ok: true, charged_cents: 1 });
    expect(gateway.vendor.asked).toHaveLength(asked);
    await client.close();
  });
});

it("a tool with a key is paid by its account, whatever payment comes along", async () => {
  const poor = await gateway.live({ creditCents: 0 });
  const client = await clientOf({ authorization: `Bearer ${poor.key}` });
  const wallet = chain.wallet(1_000_000);
  const requirements = { ...(await clientOf().then((other) => other.callTool(call).then(askedOf))) };
  const refused = await client.callTool(paying(wallet.pay(requirements)));
  expect(refused.structuredContent).toMatchObject({ ok: false, charged_cents: 0 });
  expect(refused.structuredContent).not.toHaveProperty("accepts");
  expect(chain.balance(wallet.address)).toBe(1_000_000);
  await client.close();
});

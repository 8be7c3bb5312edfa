// Stored answers to payments: addresses are free, so all of them share one quota, and no caller can fill the disk.
import { expect, it } from "vitest";
import type { Asked } from "./chain.ts";
import { startPaidGateway } from "./paid-gateway.ts";

const MIB = 1_048_576;
const { chain, gateway } = await startPaidGateway({ KEPT_ANSWERS_MIB: "1", ADDRESS_REQUESTS_PER_MINUTE: "1000" });

async function call(payment?: string): Promise<Response> {
  return fetch(`${gateway.url}/api/run/acme/search`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(payment === undefined ? {} : { "payment-signature": payment }) },
    body: '{"q":"tea"}',
  });
}

it("sixteen times an account's room holds the answers of all addresses together: the oldest leave", async () => {
  const challenge = String((await call()).headers.get("payment-required"));
  const [asked] = JSON.parse(Buffer.from(challenge, "base64").toString("utf8")).accepts as [Asked];
  gateway.vendor.answers({ body: { results: ["x".repeat(0.9 * MIB)] } });
  const payments = Array.from({ length: 20 }, () => chain.wallet(10_000).pay(asked));
  for (const payment of payments) expect((await call(payment)).status).toBe(200);
  const [first] = payments;
  const last = payments.at(-1);
  expect((await call(first)).status).toBe(409);
  expect((await call(last)).status).toBe(200);
});

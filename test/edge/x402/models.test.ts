// Model answers without a key: sold where the request bounds the price, at that bound, and paid in advance.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { askedBy, decoded, keyWallet } from "./wallet.ts";

const gateway = forFile(
  await startTestGateway({ X402_SANDBOX: "1", X402_MODELS: "1", ADDRESS_REQUESTS_PER_MINUTE: "100000" }),
);

const HELLO = { model: "core/cheap", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };

function ask(body: object, headers: Record<string, string> = {}, at = gateway): Promise<Response> {
  return fetch(`${at.url}/api/llm/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-tollgate-sandbox": "1", ...headers },
    body: JSON.stringify(body),
  });
}

describe("a model without a key", () => {
  it("is sold at what its longest answer could cost, which more tokens raise", async () => {
    const [short, long] = [askedBy(await ask(HELLO)), askedBy(await ask({ ...HELLO, max_tokens: 8_000 }))];
    expect(Number(short.amount)).toBeGreaterThan(0);
    expect(Number(long.amount)).toBeGreaterThan(Number(short.amount));
  });

  it("answers once it is paid, and charges the whole of what was signed, whatever the answer took", async () => {
    const asked = askedBy(await ask({ ...HELLO, max_tokens: 8_000 }));
    const wallet = keyWallet();
    const payment = { "payment-signature": wallet.pay(asked) };
    const paid = await ask({ ...HELLO, max_tokens: 8_000 }, payment);
    const answer = (await paid.json()) as { choices: { message: { content: string } }[] };
    expect(paid.status).toBe(200);
    expect(answer.choices[0]?.message.content).not.toBe("");
    expect(decoded(paid.headers.get("payment-response"))).toMatchObject({ success: true, payer: wallet.address });
    const { json } = await gateway.admin("GET", "/admin/v1/accounts/x402-sandbox");
    expect(json.balance_cents).toBe(0);
    const again = await ask({ ...HELLO, max_tokens: 8_000 }, payment);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect((await ask({ ...HELLO, max_tokens: 7_999 }, payment)).status).not.toBe(200);
  });

  it("that fails is not paid for, and what was signed is good again", async () => {
    const failing = { ...HELLO, model: "sandbox/503" };
    const wallet = keyWallet();
    const payment = wallet.pay(askedBy(await ask(failing)));
    const failed = await ask(failing, { "payment-signature": payment });
    expect([failed.ok, failed.headers.get("payment-response")]).toEqual([false, null]);
  });

  it.each<[string, object]>([
    ["without a bound", { model: HELLO.model, messages: HELLO.messages }],
    ["that is streamed", { ...HELLO, stream: true }],
  ])("%s is not sold so", async (_, body) => {
    const response = await ask(body);
    expect([response.status, response.headers.get("payment-required")]).toEqual([402, null]);
    expect(await response.text()).toContain("x402_not_sellable");
  });
});

it("without X402_MODELS no model is sold so", async () => {
  const bare = await startTestGateway({ X402_SANDBOX: "1" });
  const response = await ask(HELLO, {}, bare);
  expect([response.status, await response.text()]).toEqual([402, expect.stringContaining("x402_not_sellable")]);
  await bare.stop();
});

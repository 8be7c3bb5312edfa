// Calls without a key, paid on chain: the challenge, the transfer, and that nothing is paid twice or served unpaid.
import { beforeEach, describe, expect, it } from "vitest";
import { type RunAnswer, readAnswer } from "../../actions/run/acme-gateway.ts";
import { type Asked, PAY_TO, type TestChain } from "./chain.ts";
import { startPaidGateway } from "./paid-gateway.ts";

const CENT = 10_000;
const DOLLAR = 1_000_000;
const PATH = "/api/run/acme/search";
const TEA = { q: "tea" };

const { chain, gateway } = await startPaidGateway({
  OPENAI_API_KEY: "sk-of-nobody",
  BROWSERBASE_API_KEY: "key-of-nobody",
});
beforeEach(() => {
  chain.mood = "well";
  chain.isNodeAway = false;
  gateway.vendor.asked.length = 0;
  gateway.vendor.answers({ body: { results: ["found"] } });
});

async function ask(headers: Record<string, string> = {}, body: unknown = TEA, path = PATH): Promise<RunAnswer> {
  const response = await fetch(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return readAnswer(response);
}

const decoded = (header: string | null) => JSON.parse(Buffer.from(String(header), "base64").toString("utf8"));
/** The payment requirements for a call without a payment. */
async function asked(body: unknown = TEA, path = PATH): Promise<Asked> {
  const { headers } = await ask({}, body, path);
  return decoded(headers.get("payment-required")).accepts[0] as Asked;
}
const signed = (text: string) => ({ "payment-signature": text });

describe("a call without a key", () => {
  it("is told the price in both versions of x402", async () => {
    const { status, headers, json } = await ask();
    expect(status).toBe(402);
    expect(headers.get("cache-control")).toBe("no-store");
    const asset = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
    const extra = { name: "USD Coin", version: "2" };
    const rest = { asset, payTo: PAY_TO, maxTimeoutSeconds: 600, extra };
    expect(decoded(headers.get("payment-required"))).toMatchObject({
      x402Version: 2,
      resource: { url: `${gateway.url}${PATH}`, mimeType: "application/json" },
      accepts: [{ scheme: "exact", network: "eip155:8453", amount: "10000", ...rest }],
      extensions: { bazaar: { info: { input: { method: "POST", body: { q: "tea" } } } } },
    });
    expect(json).toMatchObject({ ok: false, error: "payment_required", charged_cents: 0, x402Version: 1 });
    expect(json.accepts).toMatchObject([{ scheme: "exact", network: "base", maxAmountRequired: "10000", ...rest }]);
    expect(gateway.vendor.asked).toEqual([]);
  });

  it("is served once it is paid, with a receipt, and moves exactly the price", async () => {
    const wallet = chain.wallet(DOLLAR);
    const before = chain.balance(PAY_TO);
    const { status, headers, json } = await ask(signed(wallet.pay(await asked())));
    expect(status).toBe(200);
    expect(json).toMatchObject({ ok: true, data: { results: ["found"] }, charged_cents: 1 });
    expect(decoded(headers.get("payment-response"))).toMatchObject({
      success: true,
      network: "eip155:8453",
      payer: wallet.address,
      transaction: [...chain.used.values()].at(-1),
    });
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
    expect(chain.balance(PAY_TO)).toBe(before + CENT);
  });

  it("is served for a payment of version 1", async () => {
    const wallet = chain.wallet(DOLLAR);
    const { status, headers } = await ask({ "x-payment": wallet.payV1(await asked()) });
    expect(status).toBe(200);
    expect(decoded(headers.get("x-payment-response"))).toMatchObject({ success: true, network: "base" });
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });

  it("is priced by its params", async () => {
    expect((await asked({ items: ["a", "b", "c"] }, "/api/run/acme/ranged")).amount).toBe("3000");
  });

  it("pays nothing where nothing was found, and nothing where the vendor fails", async () => {
    const wallet = chain.wallet(DOLLAR);
    gateway.vendor.answers({ body: { results: [] } });
    expect((await ask(signed(wallet.pay(await asked())))).status).toBe(200);
    gateway.vendor.answers({ status: 500, body: {} });
    const payment = signed(wallet.pay(await asked()));
    const failed = await ask(payment);
    expect([failed.status, failed.headers.get("payment-required")]).toEqual([500, null]);
    expect(chain.balance(wallet.address)).toBe(DOLLAR);
    gateway.vendor.answers({ body: { results: ["found"] } });
    // The unused payment is still valid.
    expect((await ask(payment)).status).toBe(200);
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });
});

describe("one authorization", () => {
  it("sent again gets the same answer, its receipt, and is not paid again", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    const first = await ask(payment);
    const again = await ask(payment);
    expect(again.json.data).toEqual(first.json.data);
    expect(again.headers.get("payment-response")).toBe(first.headers.get("payment-response"));
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
    expect(gateway.vendor.asked).toHaveLength(1);
  });

  it("sent ten times at once runs once", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(payment)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(gateway.vendor.asked).toHaveLength(1);
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });

  it("pays for the body that came with it first, and no other", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    await ask(payment);
    const other = await ask(payment, { q: "coffee" });
    expect([other.status, other.json.error]).toEqual([422, "idempotency_mismatch"]);
    expect(gateway.vendor.asked).toHaveLength(1);
  });

  it("with another's signature bytes over it is the same one", async () => {
    const wallet = chain.wallet(DOLLAR);
    const text = wallet.pay(await asked());
    await ask(signed(text));
    const json = decoded(text);
    json.payload.signature = `${json.payload.signature}00`;
    const malleated = await ask(signed(Buffer.from(JSON.stringify(json)).toString("base64")));
    expect(malleated.headers.get("idempotent-replayed")).toBe("true");
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });

  it("of two hundred payers at once is settled for each of them", async () => {
    const accepts = await asked();
    const wallets = Array.from({ length: 200 }, () => chain.wallet(DOLLAR));
    const answers = await Promise.all(wallets.map((wallet) => ask(signed(wallet.pay(accepts)))));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(wallets.every(({ address }) => chain.balance(address) === DOLLAR - CENT)).toBe(true);
  });
});

describe("a payment that is not good", () => {
  it.each<[string, Parameters<ReturnType<TestChain["wallet"]>["pay"]>[1], Partial<Asked>]>([
    ["of another amount", { value: "9999" }, {}],
    ["to another payee", { to: `0x${"b".repeat(40)}` }, {}],
    ["that has lapsed", { validBefore: "1" }, {}],
    ["that lapses in seven seconds", { validBefore: String(Math.floor(Date.now() / 1_000) + 7) }, {}],
    ["for another price", {}, { amount: "1" }],
    ["of another coin", {}, { asset: `0x${"c".repeat(40)}` }],
    ["on another network", {}, { network: "eip155:1" }],
    ["signed for another coin's name", {}, { extra: { name: "USDC", version: "2" } }],
  ])("%s is refused with a new challenge, and nothing runs", async (_, more, accepts) => {
    const wallet = chain.wallet(DOLLAR);
    const { status, headers, json } = await ask(signed(wallet.pay({ ...(await asked()), ...accepts }, more)));
    expect([status, json.error]).toEqual([402, "payment_required"]);
    expect(decoded(headers.get("payment-required")).accepts[0].amount).toBe("10000");
    expect(gateway.vendor.asked).toEqual([]);
    expect(chain.balance(wallet.address)).toBe(DOLLAR);
  });

  it("changed behind its signature is refused", async () => {
    const wallet = chain.wallet(DOLLAR);
    const nonce = `0x${"1".repeat(64)}`;
    const { status, json } = await ask(signed(wallet.pay(await asked(), {}, { nonce })));
    expect([status, json.message]).toEqual([402, expect.stringContaining("invalid_exact_evm_signature")]);
  });

  it("of an empty wallet is refused", async () => {
    const { status, json } = await ask(signed(chain.wallet(5).pay(await asked())));
    expect([status, json.message]).toEqual([402, expect.stringContaining("insufficient_funds")]);
  });

  it.each([
    ["no base64", "{}"],
    ["no JSON", Buffer.from("hello").toString("base64")],
    ["of a version that is not there", Buffer.from('{"x402Version":3}').toString("base64")],
    ["without a signature", Buffer.from('{"x402Version":2,"accepted":{},"payload":{}}').toString("base64")],
    ["of eight thousand characters", "QUJD".repeat(2_100)],
  ])("that is %s is 400 and names the header", async (_, text) => {
    const { status, json } = await ask(signed(text));
    expect([status, json.error]).toEqual([400, "bad_request"]);
    expect(json.message).toContain("payment-signature");
  });
});

describe("a facilitator", () => {
  it.each(["away", "500"] as const)("that is %s is no reason to ask for another payment", async (mood) => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    chain.mood = mood;
    const { status, headers, json } = await ask(payment);
    expect([status, json.error, headers.get("payment-required")]).toEqual([503, "payments_unavailable", null]);
    expect(gateway.vendor.asked).toEqual([]);
    chain.mood = "well";
    expect((await ask(payment)).status).toBe(200);
  });

  it("whose connections break is asked again, as its node is, and the call is paid once", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = wallet.pay(await asked());
    for (const path of ["/verify", "/settle", "/rpc"]) chain.breaks.add(path);
    expect((await ask(signed(payment))).status).toBe(200);
    expect([...chain.breaks]).toEqual([]);
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });

  it("that moves the money and is not heard: the chain says so, and the call is answered", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    chain.mood = "moves and is not heard";
    expect((await ask(payment)).status).toBe(200);
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });

  it("that moves the money and is not heard, nor the chain: no second payment is asked for, and the same one gets its answer", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    chain.mood = "moves and is not heard";
    chain.isNodeAway = true;
    const { status, headers, json } = await ask(payment);
    expect([status, json.error, headers.get("payment-required")]).toEqual([503, "settlement_pending", null]);
    expect(json.data).toBeUndefined();
    chain.mood = "well";
    chain.isNodeAway = false;
    const again = await ask(payment);
    expect([again.status, again.json.data]).toEqual([200, { results: ["found"] }]);
    expect(decoded(again.headers.get("payment-response")).transaction).toBe([...chain.used.values()].at(-1));
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
    expect(gateway.vendor.asked).toHaveLength(1);
  });

  it("that refuses to settle: the answer is withheld, and is had once the same payment settles", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    chain.mood = "refuses";
    const { status, json, text } = await ask(payment);
    expect([status, json.error]).toEqual([402, "payment_required"]);
    expect(text).not.toContain("found");
    chain.mood = "well";
    expect((await ask(payment)).json.data).toEqual({ results: ["found"] });
    expect(gateway.vendor.asked).toHaveLength(1);
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });

  it("that has moved the money and says that it failed is not believed: the call is paid", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    chain.mood = "moves and says that it failed";
    const { status, json } = await ask(payment);
    expect([status, json.data]).toEqual([200, { results: ["found"] }]);
    expect(chain.balance(wallet.address)).toBe(DOLLAR - CENT);
  });

  it("that says it has moved what it has not is not believed", async () => {
    const wallet = chain.wallet(DOLLAR);
    const payment = signed(wallet.pay(await asked()));
    chain.mood = "says so and moves nothing";
    const { status, json, text } = await ask(payment);
    expect([status, json.error]).toEqual([503, "settlement_pending"]);
    expect(text).not.toContain("found");
  });
});

describe("what is not sold so", () => {
  it.each([
    ["costs what its answer says", "/api/run/acme/capped", {}],
    ["is a job", "/api/run/core/onescrape-deep", { urls: ["https://a.example/"], budgetCents: 10 }],
    [
      "is a model",
      "/api/llm/v1/chat/completions",
      { model: "core/cheap", messages: [{ role: "user", content: "Hi" }] },
    ],
  ])("what %s is 402 without a challenge", async (_, path, body) => {
    const { status, headers, text } = await ask({}, body, path);
    expect(status).toBe(402);
    expect(text).toContain("x402_not_sellable");
    expect(headers.get("payment-required")).toBeNull();
  });

  it("a browser is sold without an account, and one with proxies is not: their traffic has nobody to count for", async () => {
    const path = "/api/run/browserbase/create_session";
    expect((await asked({ estimatedMinutes: 5 }, path)).amount).toBe(String(CENT));
    const { status, headers, json } = await ask({}, { estimatedMinutes: 5, proxies: { country: "DE" } }, path);
    expect([status, json.error]).toEqual([402, "x402_not_sellable"]);
    expect(headers.get("payment-required")).toBeNull();
  });
});

describe("what is free", () => {
  const FREE = "/api/run/acme/free";

  it("is asked for a payment of nothing, which proves the address and is never made", async () => {
    const wallet = chain.wallet(0);
    const accepts = await asked({}, FREE);
    expect(accepts.amount).toBe("0");
    const settles = chain.settles;
    const payment = signed(wallet.pay(accepts));
    expect((await ask(payment, {}, FREE)).status).toBe(200);
    // It is valid again until it expires.
    expect((await ask(payment, {}, FREE)).status).toBe(200);
    expect(chain.settles).toBe(settles);
  });

  it("is not given for a proof of another's making", async () => {
    const [ada, eve] = [chain.wallet(0), chain.wallet(0)];
    const forged = eve.pay(await asked({}, FREE), {}, { from: ada.address });
    const { status, json } = await ask(signed(forged), {}, FREE);
    expect([status, json.message]).toEqual([402, expect.stringContaining("invalid_exact_evm_signature")]);
  });

  it("of a payer's own is that payer's alone: files that were bought are listed for the address that bought them", async () => {
    const [ada, eve] = [chain.wallet(DOLLAR), chain.wallet(DOLLAR)];
    const file = { filename: "a.txt", size_bytes: 1 };
    const bought = await ask(
      signed(ada.pay(await asked(file, "/api/run/files/upload"))),
      file,
      "/api/run/files/upload",
    );
    expect(bought.status).toBe(200);
    const { file_id, put_url } = bought.json.data as { file_id: string; put_url: string };
    expect((await fetch(put_url, { method: "PUT", body: "x" })).ok).toBe(true);
    const got = async (wallet: typeof ada) =>
      ask(signed(wallet.pay(await asked({ file_id }, "/api/run/files/get"))), { file_id }, "/api/run/files/get");
    expect((await got(ada)).status).toBe(200);
    expect((await got(eve)).status).toBe(404);
  });
});

describe("a call with a key", () => {
  it("is paid by its account, and its payment is left alone", async () => {
    const account = await gateway.live({ creditCents: 10 });
    const wallet = chain.wallet(DOLLAR);
    const payment = wallet.pay(await asked());
    const { status, headers } = await gateway.run(account, "acme/search", TEA, signed(payment));
    expect([status, headers.get("payment-response")]).toEqual([200, null]);
    expect(chain.balance(wallet.address)).toBe(DOLLAR);
    expect(await gateway.balanceCents(account)).toBe(9);
  });

  it("that has no money is not asked to pay on chain", async () => {
    const account = await gateway.live({ creditCents: 0 });
    const { status, headers, json } = await gateway.run(account, "acme/search", TEA);
    expect([status, json.error]).toEqual([402, "insufficient_balance"]);
    expect(headers.get("payment-required")).toBeNull();
  });
});

describe("the books", () => {
  it("hold all that came in, and the account of the house has nothing left over", async () => {
    const { json } = await gateway.admin("GET", "/admin/v1/accounts/x402");
    expect(json.balance_cents).toBe(0);
    expect(Number(json.held_cents)).toBe(0);
  });

  it("the OpenAPI document tells that fixed prices can be paid so", async () => {
    const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as {
      paths: Record<string, { post: Record<string, unknown> }>;
    };
    expect(document.paths[PATH]?.post["x-payment-info"]).toEqual({
      price: { mode: "fixed", currency: "USD", amount: "0.01" },
      protocols: [{ x402: {} }],
    });
  });

  it("a list for older crawlers names the addresses, and nothing that is free", async () => {
    const list = (await (await fetch(`${gateway.url}/.well-known/x402`)).json()) as { resources: string[] };
    expect(list.resources).toContain(`${gateway.url}${PATH}`);
    expect(list.resources.filter((url) => url.includes("/core/discover"))).toEqual([]);
  });
});

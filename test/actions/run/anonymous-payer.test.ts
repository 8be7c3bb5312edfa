// Calls without a key, over HTTP, with the test's own payers: one that pays, and one that only claims to.
import { describe, expect, it } from "vitest";
import type { GatewayRequest } from "../../../src/core/endpoint.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { usdText, ZERO } from "../../../src/core/money.ts";
import type { Capture, Charge, Funds, Held, OpenPlan, Payer, Plan, Release } from "../../../src/core/plan.ts";
import { forFile } from "../../support/for-file.ts";
import { readAnswer, startAcmeGateway } from "./acme-gateway.ts";

/** The operations on a payer's funds, by address. */
const moves: string[] = [];

/** A payment of one address: verified before the work, captured after it. A liar's payment is refused at capture. */
class Payment implements Funds {
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
  }

  async reserve({ quote }: Plan, id: string): Promise<Held> {
    moves.push(`${this.#address} reserves ${usdText(quote.nano)}`);
    return { id, amountNano: quote.nano };
  }

  async capture({ id }: Held, { cost }: Capture): Promise<Charge | GatewayError> {
    if (this.#address === "liar") return new GatewayError("credits_required", { headers: { "x-challenge": "again" } });
    moves.push(`${this.#address} pays ${usdText(cost.chargeNano)}`);
    const absorbed = { absorbedNano: ZERO, absorbReason: null };
    return { transactionId: id, chargedNano: cost.chargeNano, chargedCents: 1, ...absorbed, balanceNano: null };
  }

  async release(_: Held, { reason }: Release): Promise<void> {
    moves.push(`${this.#address} is released: ${reason}`);
  }

  async balance(): Promise<null> {
    return null;
  }

  async charged(): Promise<null> {
    return null;
  }
}

/** Trusts the header: its value is the paying address. Without the header, it answers with the price. */
async function pay({ quote }: Plan | OpenPlan, { headers }: GatewayRequest) {
  const address = headers.get("x-payment");
  if (address === undefined) {
    const challenge = { "x-challenge": usdText(quote.nano) };
    return new GatewayError("credits_required", { detail: { needed_usd: "", free_usd: "" }, headers: challenge });
  }
  const payer: Payer = { id: `x402:${address}`, sandbox: false };
  return { payer, funds: new Payment(address) };
}

const gateway = forFile(await startAcmeGateway({}, { anonymousPayer: { takes: () => "money", pay } }));

async function ask(path: string, body: unknown, address?: string) {
  moves.length = 0;
  gateway.vendor.asked.length = 0;
  const response = await fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(address === undefined ? {} : { "x-payment": address }) },
    body: JSON.stringify(body),
  });
  return readAnswer(response);
}

describe("a call without a key", () => {
  it("is told the price of an action, with the headers of the challenge", async () => {
    const { status, headers } = await ask("/api/run/acme/search", { q: "tea" });
    expect(status).toBe(402);
    expect(headers.get("x-challenge")).toBe("0.01");
    expect(gateway.vendor.asked).toEqual([]);
  });

  it("is told the price of an action whose params name what a payer owns", async () => {
    const { status, headers } = await ask("/api/run/acme/poll", { job_id: "j1" });
    expect(status).toBe(402);
    expect(headers.get("x-challenge")).toBe("0.01");
  });

  it("is served and charged once where it is paid", async () => {
    gateway.vendor.answers({ body: { results: ["a"] } });
    const { status, json } = await ask("/api/run/acme/search", { q: "tea" }, "ada");
    expect(status).toBe(200);
    expect(json).toMatchObject({ ok: true, data: { results: ["a"] } });
    expect(moves).toEqual(["ada reserves 0.01", "ada pays 0.01"]);
  });

  it("pays nothing where the vendor fails", async () => {
    gateway.vendor.answers({ status: 500, body: {} });
    const { status } = await ask("/api/run/acme/search", { q: "tea" }, "ada");
    expect(status).toBe(500);
    expect(moves).toEqual(["ada reserves 0.01", "ada is released: failed"]);
  });

  it("does not get the answer where the payment was a lie", async () => {
    gateway.vendor.answers({ body: { results: ["secret"] } });
    const { status, headers, text } = await ask("/api/run/acme/search", { q: "tea" }, "liar");
    expect(status).toBe(402);
    expect(headers.get("x-challenge")).toBe("again");
    expect(text).not.toContain("secret");
  });

  it("cannot launch what goes on after its request", async () => {
    const params = { urls: ["https://a.example/"], budgetCents: 100 };
    const { status, json } = await ask("/api/run/core/onescrape-deep", params, "ada");
    expect(status).toBe(401);
    expect(json.message).toContain("What goes on after its request needs a key.");
    expect(moves).toEqual([]);
  });

  it("with a bad key is refused for its key, and no door is asked", async () => {
    const headers = { authorization: "Bearer tg_sk_nobody", "content-type": "application/json", "x-payment": "ada" };
    const response = await fetch(`${gateway.url}/api/run/acme/search`, {
      method: "POST",
      headers,
      body: '{"q":"tea"}',
    });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toContain("Bearer");
  });
});

describe("two strangers", () => {
  it("do not have each other's ids", async () => {
    gateway.vendor.answers({ body: { job_id: "of-ada" } });
    await ask("/api/run/acme/launch", { q: "tea" }, "ada");
    const others = await ask("/api/run/acme/poll", { job_id: "of-ada" }, "eve");
    expect(others.status).toBe(404);
    expect(moves).toEqual([]);
    expect(gateway.vendor.asked).toEqual([]);
    gateway.vendor.answers({ body: { status: "done" } });
    expect((await ask("/api/run/acme/poll", { job_id: "of-ada" }, "ada")).status).toBe(200);
  });

  it("do not have each other's ids of their own choice", async () => {
    gateway.vendor.answers({ body: { ok: 1 } });
    await ask("/api/run/acme/memory", { user_id: "u" }, "ada");
    const ofAda = gateway.vendor.asked[0]?.text;
    await ask("/api/run/acme/memory", { user_id: "u" }, "eve");
    expect(gateway.vendor.asked[0]?.text).not.toBe(ofAda);
  });
});

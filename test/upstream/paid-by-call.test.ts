// A vendor that answers 402 and requires payment per call: paid once, by a repeat of the same request, and the leg carries its cost.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { actionCost } from "../../src/actions/run/action-price.ts";
import { type AdapterSpec, type Auth, action, z } from "../../src/catalog/adapter.ts";
import type { Payment, PaymentWanted } from "../../src/catalog/auth.ts";
import type { ActionOffer } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/clock.ts";
import { nano } from "../../src/core/money.ts";
import type { AttemptFailure, Reading } from "../../src/core/route.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { createUpstream, type Upstream } from "../../src/upstream/upstream.ts";
import { catalogOf, LIVE } from "../catalog/catalog-of.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

const COST = nano(4_200_000);
const paidFor: PaymentWanted[] = [];
let payment: Payment | null;

const merchantPayer: Auth = {
  authorize: (request, { key }) => ({ ...request, headers: { ...request.headers, "x-account": key } }),
  async pay(wanted) {
    paidFor.push(wanted);
    return payment;
  },
};

const spec: AdapterSpec = {
  name: "Merchant",
  docs: "docs/reference/catalog.md",
  origin: "https://merchant.invalid",
  auth: merchantPayer,
  actions: {
    draw: action({
      description: "Draws.",
      category: "open-data",
      effect: "read",
      params: z.looseObject({}),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 0,
      request: { method: "POST", path: "/draw" },
      example: { params: {}, answers: [{ ok: 1 }] },
    }),
  },
};

let vendor: VendorServer;
let upstream: Upstream;
let offer: ActionOffer;
beforeAll(async () => {
  vendor = await startVendor();
  upstream = createUpstream(systemClock, { dialects: DIALECTS });
  const env = { MERCHANT_BASE_URL: vendor.url, MERCHANT_API_KEY: "account-1" };
  const found = catalogOf({ adapters: { merchant: spec } }, { env }).action("merchant/draw", LIVE)?.offers[0];
  if (found === undefined) throw new Error("no offer");
  offer = found;
});
beforeEach(() => {
  paidFor.length = 0;
  payment = { headers: { "x-payment": "voucher" }, costNano: COST };
});
afterAll(async () => {
  await upstream.close();
  await vendor.close();
});

interface Outcome {
  readonly failure: AttemptFailure | null;
  readonly reading: Reading;
}

function draw(): Promise<Outcome> {
  const order = {
    soldId: "merchant/draw",
    params: { q: "a tide of ½ m" },
    row: null,
    requestId: "req_1",
    payerId: "acct_1",
    restore: (json: string) => json,
    preamble: null,
    sandbox: null,
  };
  return new Promise((resolve) => {
    const end = (failure: AttemptFailure | null) => resolve({ failure, reading: attempt.reading() });
    const sink = { begin() {}, delta: () => true, done: () => end(null), failed: end };
    const attempt = upstream.actionCandidate(offer, order).open(sink as never, 2_000);
  });
}

describe("a vendor that is paid by the call", () => {
  it("is paid once, and its cost is what the attempt has read", async () => {
    vendor.answers({ status: 402, headers: { "x-price": "0.0042" }, body: { wants: 1 } }, { body: { ok: 1 } });
    const { failure, reading } = await draw();
    expect(failure).toBeNull();
    expect(reading.upstreamCostNano).toBe(COST);
    const { price } = offer.spec;
    const served = { spec: offer.spec, params: {}, row: null };
    const cost = actionCost({ price, priceVersion: "v", quoteNano: nano(10_000_000), served, reading });
    expect(cost.upstreamNano).toBe(COST);
    expect(paidFor).toMatchObject([{ headers: { "x-price": "0.0042" }, json: { wants: 1 } }]);
  });

  it("is sent the very same bytes again, with the payment's header more", async () => {
    vendor.answers({ status: 402, body: {} }, { body: { ok: 1 } });
    await draw();
    const [first, second, ...more] = vendor.asked;
    expect(more).toEqual([]);
    expect(second?.text).toBe(first?.text);
    expect(second?.url).toBe(first?.url);
    expect(first?.headers).not.toHaveProperty("x-payment");
    expect(second?.headers).toEqual({ ...first?.headers, "x-payment": "voucher" });
  });

  it("fails the attempt by a second 402, which costs nothing and is not paid again", async () => {
    vendor.answers({ status: 402, body: {} }, { status: 402, body: {} }, { body: { ok: 1 } });
    const { failure, reading } = await draw();
    expect(failure?.status).toBe(402);
    expect(reading.upstreamCostNano).toBeNull();
    expect(vendor.asked).toHaveLength(2);
    expect(paidFor).toHaveLength(1);
  });

  it("may have taken the payment where it then fails", async () => {
    vendor.answers({ status: 402, body: {} }, { status: 500, body: {} });
    const { failure, reading } = await draw();
    expect(failure?.status).toBe(500);
    expect(reading.upstreamCostNano).toBe(COST);
  });

  it("fails by its first 402 where nothing is paid", async () => {
    payment = null;
    vendor.answers({ status: 402, body: {} }, { body: { ok: 1 } });
    const { failure } = await draw();
    expect(failure?.status).toBe(402);
    expect(vendor.asked).toHaveLength(1);
  });
});

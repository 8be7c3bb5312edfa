// Process crashes and shared stores between a payment and its answer: no one pays twice, and every payment is booked.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { NETWORKS } from "../../../src/catalog/networks.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { nano } from "../../../src/core/money.ts";
import type { Capture, Plan } from "../../../src/core/plan.ts";
import { HOUSE, openHouse } from "../../../src/edge/x402/books.ts";
import { rpcChain } from "../../../src/edge/x402/chain.ts";
import { requirementsOf } from "../../../src/edge/x402/challenge.ts";
import type { PaymentDeps } from "../../../src/edge/x402/claim.ts";
import { type Facilitator, httpFacilitator } from "../../../src/edge/x402/facilitator.ts";
import { PaymentFunds } from "../../../src/edge/x402/pay-per-call.ts";
import { readPayment } from "../../../src/edge/x402/read-payment.ts";
import { openReceipts } from "../../../src/edge/x402/receipts.ts";
import { createReconciler } from "../../../src/edge/x402/settle-receipt.ts";
import { openStores, type Stores } from "../../../src/gateway/stores.ts";
import type { Ledger } from "../../../src/money/ledger/model/ledger.ts";
import { nodeRpc } from "../../../src/money/wallet/node-rpc.ts";
import { readConfig } from "../../../src/platform/config.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { anyRedis } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { PAY_TO, TestChain, type Wallet } from "./chain.ts";

onlyAProcessShows("x402 payments in Redis");

const CENT_NANO = nano(10_000_000);
const PRICE = requirementsOf(CENT_NANO, { payTo: PAY_TO, network: NETWORKS.base });
const DOLLAR = 1_000_000;
/** Our cost of making a payment. */
const SETTLEMENT = nano(2_000_000);

const chain = new TestChain();
beforeAll(() => chain.listen());
afterAll(() => chain.close());

/** The funds' part of a call for one cent; they ignore the rest of a plan. */
const plan = {
  operation: "run",
  asked: "acme/search",
  effect: "read",
  slots: [],
  wholeMsMax: 60_000,
  quote: { nano: CENT_NANO },
  idempotency: { key: "payment", fingerprint: "of the body" },
} as unknown as Plan;
const capture = {
  cost: { chargeNano: CENT_NANO, upstreamNano: nano(0), usage: null, estimated: false, priceVersion: "acme/search@1c" },
  served: { provider: "acme", model: "acme/search" },
  legs: [],
} as unknown as Capture;

describe.each(["SQLite", "Redis"])("over %s", (store) => {
  let stores: Stores;
  let close: () => Promise<void>;
  let clock: ReturnType<typeof manualClock>;
  let wallet: Wallet;
  let calls = 0;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-x402-"));
    const redis = store === "Redis" ? await anyRedis() : null;
    const shared = redis === null ? {} : { REDIS_URL: redis.url, SIGNING_SECRET: "s".repeat(32) };
    stores = await openStores(readConfig({ DATA_DIR: folder, ...shared }), {
      onFatal: (error) => {
        throw error;
      },
      onBroken: () => {},
      archiveDir: folder,
    });
    await openHouse(stores.ledger, HOUSE);
    close = async () => {
      await stores.close();
      await redis?.dispose();
      removeFolder(folder);
    };
  });
  afterAll(() => close());
  beforeEach(() => {
    clock = manualClock(Date.now());
    chain.mood = "well";
    chain.isNodeAway = false;
    wallet = chain.wallet(DOLLAR);
  });
  afterEach(async () => {
    const { findings } = await stores.ledger.doctor();
    expect(findings).toEqual([]);
  });

  function deps(more: Partial<{ ledger: Ledger; records: Records; hasChain: boolean }> = {}): PaymentDeps {
    const { ledger = stores.ledger, records = stores.records, hasChain = true } = more;
    return {
      ledger,
      records,
      clock,
      leases: { keep() {}, release() {} },
      owner: "process-1",
      leaseMs: 60_000,
      house: HOUSE,
      settlementNano: SETTLEMENT,
      facilitator: httpFacilitator(chain.url),
      chain: hasChain ? rpcChain(nodeRpc(`${chain.url}/rpc`)) : null,
      unpaid: null,
      observer: { unpaid() {}, settled() {} },
    };
  }

  function fundsOf(header: string, parts = deps()): PaymentFunds {
    const payment = readPayment(new Map([["payment-signature", header]]), NETWORKS.base);
    if (payment === null || payment instanceof Error) throw new Error("no payment");
    const refused = (detail: string) => new GatewayError("payment_required", { detail: { detail } });
    return new PaymentFunds(parts, { payment, paidFor: PRICE, requestId: "req_1", refused });
  }

  async function held(funds: PaymentFunds) {
    const id = `tx_${++calls}_${store}`;
    const got = await funds.reserve(plan, id);
    if (!("amountNano" in got)) throw new Error("not held");
    return got;
  }

  /** Another process checks the open payments. */
  const look = (parts = deps()) =>
    createReconciler(parts, (error) => {
      throw error;
    }).look(0);

  it("a process that dies at any step of settling leaves a call that is paid once, and booked once", async () => {
    for (let step = 0; step < 8; step++) {
      wallet = chain.wallet(DOLLAR);
      const header = wallet.pay(PRICE);
      const got = await held(fundsOf(header));
      let left = step;
      const dying = <Part extends object>(part: Part): Part =>
        new Proxy(part, {
          get(target, name) {
            const value = Reflect.get(target, name);
            if (typeof value !== "function") return value;
            return (...given: unknown[]) =>
              --left < 0 ? Promise.reject(new Error("it died")) : value.apply(target, given);
          },
        });
      const parts = deps({ ledger: dying(stores.ledger), records: dying(stores.records) });
      const ended = await fundsOf(header, parts)
        .capture(got, capture)
        .catch((error: unknown) => error);
      // Its hold ends with its lease, as for any dead process.
      if (ended instanceof Error) await stores.ledger.void({ accountId: "x402", holdId: got.id }, "its process died");
      // A caller that sends the payment again learns which call it paid for, and owes no other payment.
      const again = await fundsOf(header).reserve(plan, `tx_${++calls}_${store}`);
      const isPaid = chain.balance(wallet.address) < DOLLAR;
      if (isPaid) expect([step, again]).toEqual([step, { replayOf: got.id }]);
      if ("amountNano" in again) await fundsOf(header).release(again, { reason: "left", keyFate: "free", legs: [] });
      await look();
      expect([step, await openReceipts(stores.records, HOUSE)]).toEqual([step, []]);
      const paid = DOLLAR - chain.balance(wallet.address);
      const [own, late] = await Promise.all(
        [got.id, `${got.id}_paid`].map((id) => stores.ledger.transaction("x402", id)),
      );
      const booked = (own?.amountNano ?? 0) + (late?.amountNano ?? 0);
      expect([step, booked]).toEqual([step, paid * 1_000]);
      // The cost of making the payment is booked with it, exactly once.
      expect([step, (own?.upstreamNano ?? 0) + (late?.upstreamNano ?? 0)]).toEqual([step, paid > 0 ? SETTLEMENT : 0]);
      expect(paid === 0 || paid === 10_000).toBe(true);
    }
    const house = await stores.ledger.account("x402");
    expect((house?.grantedNano ?? 0) - (house?.spentNano ?? 0)).toBe(0);
  });

  it("a payment that is looked at while its call settles it is left to the call, and booked once", async () => {
    const parts = deps();
    const looks: unknown[] = [];
    const settle: Facilitator["settle"] = async (...given) => {
      const made = await parts.facilitator.settle(...given);
      looks.push(await look());
      return made;
    };
    const funds = fundsOf(wallet.pay(PRICE), { ...parts, facilitator: { ...parts.facilitator, settle } });
    const got = await held(funds);
    expect(await funds.capture(got, capture)).toMatchObject({ chargedNano: CENT_NANO });
    expect(looks).toEqual([["open"]]);
    expect((await stores.ledger.transaction("x402", got.id))?.amountNano).toBe(CENT_NANO);
    expect(await stores.ledger.transaction("x402", `${got.id}_paid`)).toBeNull();
    const house = await stores.ledger.account("x402");
    expect((house?.grantedNano ?? 0) - (house?.spentNano ?? 0)).toBe(0);
  });

  it("a claim whose payment cannot be looked at is ended, and can be made again", async () => {
    const kept = new Set<string>();
    const leases = {
      keep: ({ holdId }: { holdId: string }) => void kept.add(holdId),
      release: ({ holdId }: { holdId: string }) => void kept.delete(holdId),
    };
    const broken = () => Promise.reject(new Error("broken"));
    const records = new Proxy(stores.records, {
      get: (target, name) => (name === "get" ? broken : Reflect.get(target, name).bind(target)),
    });
    const header = wallet.pay(PRICE);
    const noRecords = fundsOf(header, { ...deps({ records }), leases });
    await expect(noRecords.reserve(plan, `tx_${++calls}_${store}`)).rejects.toThrow("broken");
    const noVerdict = fundsOf(header, { ...deps(), leases, facilitator: { verify: broken, settle: broken } });
    await expect(noVerdict.reserve(plan, `tx_${++calls}_${store}`)).rejects.toThrow("broken");
    expect(kept).toEqual(new Set());
    const funds = fundsOf(header);
    await funds.release(await held(funds), { reason: "left", keyFate: "free", legs: [] });
  });

  it("a payment whose facilitator does not answer in time is 503, claims nothing for longer, and is good afterwards", async () => {
    const kept = new Set<string>();
    const leases = {
      keep: ({ holdId }: { holdId: string }) => void kept.add(holdId),
      release: ({ holdId }: { holdId: string }) => void kept.delete(holdId),
    };
    const header = wallet.pay(PRICE);
    const slow = { ...deps(), leases, facilitator: httpFacilitator(chain.url, { verifyMsMax: 100 }) };
    chain.mood = "hangs";
    const refused = await fundsOf(header, slow).reserve(plan, `tx_${++calls}_${store}`);
    expect(refused).toMatchObject({ code: "payments_unavailable", status: 503, retry: true });
    expect([kept, (await stores.ledger.totals()).holdsOpen]).toEqual([new Set(), 0]);
    chain.mood = "well";
    const funds = fundsOf(header);
    const got = await held(funds);
    expect(await funds.capture(got, capture)).toMatchObject({ chargedNano: CENT_NANO });
    expect(chain.balance(wallet.address)).toBe(DOLLAR - 10_000);
  });

  it("a payment that lapses before its work could be over is refused, and no work is done for it", async () => {
    const validFor = (seconds: number) => String(Math.floor(clock.epochMs() / 1_000) + seconds);
    const short = await fundsOf(wallet.pay(PRICE, { validBefore: validFor(85) })).reserve(
      plan,
      `tx_${++calls}_${store}`,
    );
    expect(short).toMatchObject({ message: "it is good for less than 90 seconds" });
    const funds = fundsOf(wallet.pay(PRICE, { validBefore: validFor(95) }));
    await funds.release(await held(funds), { reason: "left", keyFate: "free", legs: [] });
  });

  it("a payment that is refused and refused again is not tried a third time at once", async () => {
    chain.mood = "refuses";
    const header = wallet.pay(PRICE);
    const funds = fundsOf(header);
    expect(await funds.capture(await held(funds), capture)).toMatchObject({ code: "payment_required" });
    const triesOf = async (times: number) => {
      const before = chain.settles;
      for (let time = 0; time < times; time++) {
        const refused = await fundsOf(header).reserve(plan, `tx_${++calls}_${store}`);
        expect(refused).toMatchObject({ code: "payment_required" });
      }
      return chain.settles - before;
    };
    expect(await triesOf(4)).toBe(1);
    clock.advance(10_000);
    expect(await triesOf(4)).toBe(1);
    chain.mood = "well";
    clock.advance(10_000);
    expect(await fundsOf(header).reserve(plan, `tx_${++calls}_${store}`)).toHaveProperty("replayOf");
  });

  it("a payment that was made and not heard of is found on the chain, by whoever looks", async () => {
    chain.mood = "moves and is not heard";
    chain.isNodeAway = true;
    const funds = fundsOf(wallet.pay(PRICE));
    const got = await held(funds);
    expect(await funds.capture(got, capture)).toMatchObject({ code: "settlement_pending" });
    chain.mood = "away";
    chain.isNodeAway = false;
    await Promise.all([look(), look()]);
    expect(await openReceipts(stores.records, HOUSE)).toEqual([]);
    expect((await stores.ledger.transaction("x402", `${got.id}_paid`))?.amountNano).toBe(CENT_NANO);
  });

  it("without a node to ask, what may have been made stays open, and is never asked for again", async () => {
    chain.mood = "moves and is not heard";
    const parts = deps({ hasChain: false });
    const funds = fundsOf(wallet.pay(PRICE), parts);
    const got = await held(funds);
    await funds.capture(got, capture);
    chain.mood = "well";
    expect(await look(parts)).toEqual(["open"]);
    // The operator configures a node.
    await look();
    expect(await openReceipts(stores.records, HOUSE)).toEqual([]);
  });

  it("a payment that was never made lapses, and is forgotten", async () => {
    chain.mood = "says so and moves nothing";
    const funds = fundsOf(wallet.pay(PRICE));
    await funds.capture(await held(funds), capture);
    chain.mood = "away";
    clock.advance(700_000);
    expect(await look()).toEqual(["refused"]);
    expect(chain.balance(wallet.address)).toBe(DOLLAR);
  });
});

// A process that dies between the booking, signing, showing and confirmation of a payment: nothing is paid twice, and possible payments are
// found.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { PaidAnswer, PaidCall, Payment, PaymentWanted } from "../../../src/catalog/auth.ts";
import { NETWORKS, TEMPO_NETWORKS } from "../../../src/catalog/networks.ts";
import { type Nano, nano } from "../../../src/core/money.ts";
import { openStores, type Stores } from "../../../src/gateway/stores.ts";
import { openHouse, walletBooks } from "../../../src/money/wallet/books.ts";
import { Wallets } from "../../../src/money/wallet/merchant-payer.ts";
import { openPaid, paidFor } from "../../../src/money/wallet/paid-records.ts";
import { walletReconciler } from "../../../src/money/wallet/reconcile.ts";
import { keySigner, type Signer } from "../../../src/money/wallet/signer.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { anyRedis } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { Merchant } from "./merchant.ts";

onlyAProcessShows("wallet payments in Redis");

const KEY = `0x${"11".repeat(32)}` as const;
const CENT = nano(10_000_000);
const BY = { rails: ["x402"], payTo: null } as const;

describe.each(["SQLite", "Redis"])("over %s", (store) => {
  const merchant = new Merchant("x402");
  let stores: Stores;
  let close: () => Promise<void>;
  let clock: ReturnType<typeof manualClock>;
  let calls = 0;
  /** Whether the charge of a call for a merchant named by its caller is booked. */
  let isCharged = true;
  let call: PaidCall;

  beforeAll(async () => {
    await merchant.listen();
    merchant.units = 10_000n;
    const folder = mkdtempSync(join(tmpdir(), "tollgate-wallet-"));
    const redis = store === "Redis" ? await anyRedis() : null;
    const shared = redis === null ? {} : { REDIS_URL: redis.url, SIGNING_SECRET: "s".repeat(32) };
    stores = await openStores(readConfig({ DATA_DIR: folder, ...shared }), {
      onFatal: (error) => {
        throw error;
      },
      onBroken: (error) => {
        throw error;
      },
      archiveDir: folder,
    });
    await openHouse(stores.ledger);
    close = async () => {
      await stores.close();
      await redis?.dispose();
      removeFolder(folder);
    };
  });
  afterAll(async () => {
    const { findings } = await stores.ledger.doctor();
    await close();
    await merchant.close();
    expect(findings).toEqual([]);
  });
  beforeEach(() => {
    clock = manualClock(Date.now());
    merchant.mood = "honest";
    merchant.taken.length = 0;
    merchant.nowS = () => Math.floor(clock.epochMs() / 1_000);
    calls += 1;
    call = { merchant: `m${calls}`, callId: `tx_${store}_${calls}`, mostNano: CENT, isCallers: false, sandbox: false };
  });

  /** A process of this store; `signer` may have an unavailable wallet. */
  function processWith(signer: Signer = keySigner(KEY), records = stores.records) {
    const books = walletBooks(stores.ledger, { maxNano: nano(10_000_000_000), owner: "wallet", clock });
    const broken: unknown[] = [];
    const networks = { tempo: TEMPO_NETWORKS.tempo, x402: NETWORKS.base };
    const onBroken = (error: unknown) => void broken.push(error);
    const parts = { ...networks, signers: { mpp: null, x402: signer }, clock, records, books, onBroken, told() {} };
    const nodes = { mpp: null, x402: `${merchant.url}/rpc` };
    return {
      wallets: new Wallets(parts),
      reconciler: walletReconciler({ records, books, giveBack: async () => isCharged, clock, nodes, onBroken }),
      books,
    };
  }

  const post = (headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${merchant.url}/x`, { method: "POST", headers });
  async function wanted(): Promise<PaymentWanted> {
    const response = await post();
    const request = { method: "POST", origin: merchant.url, path: "/x?q=secret", headers: {}, body: null };
    return { headers: Object.fromEntries(response.headers), json: undefined, request };
  }
  async function pay(by: ReturnType<typeof processWith>): Promise<Payment> {
    const paid = await by.wallets.merchantPayer(call).pay(await wanted(), BY);
    if ("unpaid" in paid) throw new Error(paid.unpaid.message);
    return paid;
  }
  const again = async () =>
    processWith()
      .wallets.merchantPayer(call)
      .pay(await wanted(), BY);

  it("after it was booked and before it was signed: it is not paid again", async () => {
    await processWith().books.book(call.callId, CENT, call);
    expect(await again()).toMatchObject({ unpaid: { message: "this call has paid it once" } });
    expect(await openPaid(stores.records)).toEqual([]);
  });

  it("before its charge was booked: it is looked at again until there is one to give back, for a day", async () => {
    const mayPay = { ...call, namedBy: "acct:1" };
    const ids = ["late", "never"].map((at) => `${call.callId}_${at}`);
    for (const callId of ids)
      expect(
        await processWith()
          .wallets.merchantPayer({ ...mayPay, callId })
          .pay(await wanted(), BY),
      ).toHaveProperty("headers");
    const { reconciler } = processWith();
    clock.advance(400_000);
    isCharged = false;
    expect(await reconciler.look(0)).toEqual(["open", "open"]);
    isCharged = true;
    expect(await reconciler.look(0)).toEqual(["unmade", "unmade"]);
  });

  it("merchants that callers name are paid half of a day together, and a quarter for one account", async () => {
    const { books } = processWith();
    const quarter = nano(2_500_000_000);
    const one = (namedBy: string | undefined, amountNano: Nano, at: string) =>
      books.book(`${call.callId}_${at}`, amountNano, { merchant: "m", ...(namedBy === undefined ? {} : { namedBy }) });
    const full = { fullUntilMs: expect.any(Number), isWhole: false };
    expect(await one("acct:a", quarter, "1")).toBe("booked");
    await books.unbook(`${call.callId}_1`);
    // A returned payment keeps its room.
    expect(await one("acct:a", CENT, "2")).toEqual(full);
    expect(await one("acct:b", nano(quarter - 10 * CENT), "3")).toBe("booked");
    expect(await one("acct:c", nano(20 * CENT), "4")).toEqual(full);
    expect(await one(undefined, CENT, "5")).toBe("booked");
  });

  it("after it was signed and before it left: it is found, and given back once it has lapsed", async () => {
    const before = await processWith().books.spentToday();
    await pay(processWith());
    expect(await again()).toMatchObject({ unpaid: { message: "this call has paid it once" } });
    const { reconciler, books } = processWith();
    expect(await paidFor(stores.records, call.callId)).toMatchObject({ state: "open", url: `${merchant.url}/x` });
    expect(await reconciler.look(0)).toEqual(["open"]);
    clock.advance(400_000);
    expect(await reconciler.look(0)).toEqual(["unmade"]);
    expect(await reconciler.look(0)).toEqual([]);
    const row = await stores.ledger.account("wallet");
    expect(row?.spentNano).toBeGreaterThan(0);
    // A signed payment has taken its room of the day.
    expect(await books.spentToday()).toBe(before + CENT);
  });

  it("after it left and before its answer: the chain says that it was made", async () => {
    const { headers } = await pay(processWith());
    expect((await post(headers)).status).toBe(200);
    expect(merchant.taken).toHaveLength(1);
    expect(await processWith().reconciler.look(0)).toEqual(["made"]);
    const [{ transactionHash } = { transactionHash: "" }] = merchant.taken;
    expect(await paidFor(stores.records, call.callId)).toMatchObject({ state: "made", transaction: transactionHash });
    expect(await again()).toHaveProperty("unpaid");
    expect(merchant.taken).toHaveLength(1);
  });

  it("without a node that answers, it stays open", async () => {
    await pay(processWith());
    merchant.isNodeAway = true;
    clock.advance(400_000);
    expect(await processWith().reconciler.look(0)).toEqual(["open"]);
    merchant.isNodeAway = false;
    expect(await processWith().reconciler.look(0)).toEqual(["unmade"]);
  });

  it("a wallet that does not sign has paid nothing", async () => {
    const away = { ...keySigner(KEY), sign: () => Promise.reject(new Error("gone")) };
    const refused = await processWith(away)
      .wallets.merchantPayer(call)
      .pay(await wanted(), BY);
    expect(refused).toMatchObject({ unpaid: { message: "the wallet cannot be asked", mayHaveRun: false } });
    expect(await paidFor(stores.records, call.callId)).toMatchObject({ state: "unmade" });
  });

  it("a payment that cannot be kept is not signed, and is given back", async () => {
    const broken = new Proxy(stores.records, {
      get: (target, name) =>
        name === "put" ? () => Promise.reject(new Error("full")) : Reflect.get(target, name).bind(target),
    });
    const before = await stores.ledger.account("wallet");
    const refused = await processWith(keySigner(KEY), broken)
      .wallets.merchantPayer(call)
      .pay(await wanted(), BY);
    expect(refused).toMatchObject({ unpaid: { message: "the wallet cannot be asked", mayHaveRun: false } });
    const after = await stores.ledger.account("wallet");
    const leftOf = (row: typeof after) => Number(row?.grantedNano) - Number(row?.spentNano);
    expect(leftOf(after)).toBe(leftOf(before));
  });

  it("of two processes with one call, one pays", async () => {
    const tries = await Promise.all([again(), again(), again()]);
    expect(tries.filter((one) => !("unpaid" in one))).toHaveLength(1);
    const made = tries.find((one): one is Payment => !("unpaid" in one));
    const answer: PaidAnswer = { status: 200, headers: {} };
    await made?.answered?.(answer);
    expect(await openPaid(stores.records)).toEqual([]);
  });
});

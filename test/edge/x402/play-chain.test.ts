// The sandbox's chain in both stores: a signed transfer moves once, and an address spends its balance and no more.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PLAY_NETWORK, PLAY_PAY_TO } from "../../../src/catalog/networks.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { nano } from "../../../src/core/money.ts";
import { requirementsOf } from "../../../src/edge/x402/challenge.ts";
import { createPlayChain, PLAY_UNITS, type PlayChain } from "../../../src/edge/x402/play-chain.ts";
import { type Payment, readPayment } from "../../../src/edge/x402/read-payment.ts";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { anyRedis } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { type KeyWallet, keyWallet } from "./wallet.ts";

const DOLLAR = requirementsOf(nano(1_000_000_000), { payTo: PLAY_PAY_TO, network: PLAY_NETWORK });

function paymentOf(wallet: KeyWallet): Payment {
  const payment = readPayment(new Map([["payment-signature", wallet.pay(DOLLAR)]]), PLAY_NETWORK);
  if (payment === null || payment instanceof Error) throw new Error("no payment");
  return payment;
}

describe.each(["SQLite", "Redis"])("over %s", (store) => {
  let chain: PlayChain;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-play-"));
    const redis = store === "Redis" ? await anyRedis() : null;
    const shared = redis === null ? {} : { REDIS_URL: redis.url, SIGNING_SECRET: "s".repeat(32) };
    const stores = await openStores(readConfig({ DATA_DIR: folder, ...shared }), {
      onFatal: (error) => {
        throw error;
      },
      onBroken: () => {},
      archiveDir: folder,
    });
    chain = createPlayChain({ records: stores.records, clock: systemClock });
    close = async () => {
      await stores.close();
      await redis?.dispose();
      removeFolder(folder);
    };
  });
  afterAll(() => close());

  it("an authorization that is made twice at once moves once", async () => {
    const wallet = keyWallet();
    const payment = paymentOf(wallet);
    const made = await Promise.all([chain.settle(payment, null), chain.settle(payment, null)]);
    expect(made.filter((one) => one !== "unknown" && one.settled)).toHaveLength(1);
    expect(await chain.balance(wallet.address)).toBe(PLAY_UNITS - 1_000_000);
    expect(await chain.ended(payment, 0)).toMatchObject({ state: "used" });
  });

  it("of fourteen dollars at once from a wallet with ten, ten move; the rest is good once there is money again", async () => {
    const wallet = keyWallet();
    const payments = Array.from({ length: 14 }, () => paymentOf(wallet));
    const made = await Promise.all(payments.map((payment) => chain.settle(payment, null)));
    const isMade = made.map((one) => one !== "unknown" && one.settled);
    expect(isMade.filter(Boolean)).toHaveLength(10);
    expect(await chain.balance(wallet.address)).toBe(0);
    expect(await chain.verify(paymentOf(wallet), null)).toEqual({ valid: false, reason: "insufficient_funds" });
    const ends = await Promise.all(payments.map((payment) => chain.ended(payment, 0)));
    expect(ends.map(({ state }) => state === "used")).toEqual(isMade);
  });
});

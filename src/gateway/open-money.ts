// Money besides the ledger: the leases of holds, payments to merchants, and callers who pay without a key (x402).

import { randomBytes } from "node:crypto";
import type { MerchantPayerFor } from "../catalog/auth.ts";
import { NETWORKS, TEMPO_NETWORKS } from "../catalog/networks.ts";
import { systemClock } from "../core/clock.ts";
import { type KeptLeases, keepLeases } from "../money/ledger/sweep.ts";
import { openHouse, walletBooks } from "../money/wallet/books.ts";
import { hexOf } from "../money/wallet/hex.ts";
import { type Payable, playMerchantPayer, Wallets } from "../money/wallet/merchant-payer.ts";
import { provePaid } from "../money/wallet/prove.ts";
import { walletReconciler } from "../money/wallet/reconcile.ts";
import { keySigner } from "../money/wallet/signer.ts";
import { NO_WALLET } from "../money/wallet/wallet.ts";
import { walletEndpoints } from "../money/wallet/wallet-endpoints.ts";
import { doesWork } from "../platform/config.ts";
import type { Observer } from "../platform/observe/observer.ts";
import { fetchThrough } from "../upstream/tunnel.ts";
import type { AnonymousPayers, Selling } from "./anonymous-payers.ts";
import type { Foundation, Ground } from "./open-foundation.ts";
import { LEASE_MS } from "./stores.ts";

const RECORDS_SWEPT_MAX = 1_000;

/** Renews this process's holds. First ends those that an earlier process left; nothing may be reserved before that. */
export async function openLeases({ config, stores, broken, opened }: Foundation): Promise<KeptLeases> {
  const { ledger, records, owner } = stores;
  const leases = keepLeases({
    ledger,
    clock: systemClock,
    owner,
    leaseMs: LEASE_MS,
    sweeps: doesWork(config),
    onBroken: (error) => broken(error, "leases"),
    alsoSweep: async () => (await records.sweep(RECORDS_SWEPT_MAX)) === RECORDS_SWEPT_MAX,
  });
  opened.add(leases.stop);
  await leases.recover();
  return leases;
}

/** Play money wallets, for sandbox calls only. Their key is created on first use and worth nothing. */
export function playMerchantPayers(): MerchantPayerFor {
  let payable: Payable | null = null;
  return (call) => {
    if (!call.sandbox) return null;
    if (payable === null) {
      const play = keySigner(hexOf(randomBytes(32)));
      const networks = { tempo: TEMPO_NETWORKS.tempo, x402: NETWORKS.base, clock: systemClock };
      payable = { ...networks, signers: { mpp: play, x402: play } };
    }
    return playMerchantPayer(call, payable);
  };
}

/**
 * Payments to merchants: from the operator's wallet, or with play money in the sandbox. `prove` compares the books with the chains and
 * `reconciler` resolves payments whose outcome is unknown; null: no merchant is paid.
 */
export async function openWallets({ options, config, stores, broken }: Ground, observer: Observer) {
  const { ledger, records } = stores;
  const { wallet = NO_WALLET } = options;
  const onBroken = (error: unknown) => broken(error, "payments to merchants");
  wallet.onLost((error) => broken(error, "the wallet"));
  const play = playMerchantPayers();
  if (config.mppWallet === null && config.x402Wallet === null)
    return { merchantPayerFor: play, admin: [], prove: null, reconciler: null };
  await openHouse(ledger);
  const clock = systemClock;
  const books = walletBooks(ledger, { maxNano: config.walletNanoPerDay, owner: "wallet", clock });
  const { signers } = wallet;
  const networks = { tempo: TEMPO_NETWORKS[config.mppNetwork], x402: NETWORKS[config.x402Network], clock };
  const wallets = new Wallets({ ...networks, signers, records, books, onBroken, told: observer.merchantPaid });
  const fetchOut = fetchThrough(config.proxies);
  const nodes = { mpp: config.mppRpcUrl, x402: config.x402RpcUrl };
  const giveBack = async (callId: string) => {
    const given = await ledger.refund(callId, `${callId}_back`, "the payment that it was charged for was not made");
    return given.outcome !== "unknown_transaction";
  };
  const reconciler = walletReconciler({ records, books, giveBack, clock, nodes, fetchOut, onBroken });
  observer.onScrape(({ walletOpen, walletOpenOldest }) => {
    const { count, oldestMs } = reconciler.seen();
    walletOpen.set(count);
    walletOpenOldest.set(oldestMs / 1000);
  });
  const merchantPayerFor: MerchantPayerFor = (call) => (call.sandbox ? play(call) : wallets.merchantPayer(call));
  return {
    merchantPayerFor,
    prove: () => provePaid({ records, ledger, nodes, fetchOut }),
    admin: walletEndpoints({ records, books, signers, reconciler }),
    reconciler,
  };
}

/** Null: callers need a key. */
export async function openAnonymousPayers(selling: Selling): Promise<AnonymousPayers | null> {
  const { x402PayTo, x402Sandbox } = selling.config;
  if (x402PayTo === null && !x402Sandbox) return null;
  const { openPayPerCall } = await import("./anonymous-payers.ts");
  return openPayPerCall(selling);
}

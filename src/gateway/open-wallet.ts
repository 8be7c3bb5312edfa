// Payments to merchants: the purse that each call has, from the operator's wallet, or in the sandbox from one of play money.
import { randomBytes } from "node:crypto";
import type { PurseFor } from "../catalog/auth.ts";
import { NETWORKS, TEMPO_NETWORKS } from "../catalog/networks.ts";
import { systemClock } from "../core/clock.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Proof } from "../money/accounts/admin-endpoints.ts";
import { openHouse, walletBooks } from "../money/wallet/books.ts";
import { hexOf } from "../money/wallet/hex.ts";
import { provePaid } from "../money/wallet/prove.ts";
import { type Payable, playPurse, Wallets } from "../money/wallet/purse.ts";
import { type WalletReconciler, walletReconciler } from "../money/wallet/reconcile.ts";
import { keySigner } from "../money/wallet/signer.ts";
import { NO_WALLET, type Wallet } from "../money/wallet/wallet.ts";
import { walletEndpoints } from "../money/wallet/wallet-endpoints.ts";
import type { Config } from "../platform/config.ts";
import type { Observer } from "../platform/observe/observer.ts";
import { fetchThrough } from "../upstream/tunnel.ts";
import type { TellBroken } from "./store-outage.ts";
import type { Stores } from "./stores.ts";

export interface OpenWallet {
  readonly purseFor: PurseFor;
  /** What the operator asks of it. */
  readonly admin: readonly EndpointSpec[];
  /** Holds the books against the chains; null: no merchant is paid. */
  readonly prove: Proof | null;
  /** Finds out what became of payments without a good answer; null: none are made. */
  readonly reconciler: WalletReconciler | null;
}

export interface WalletParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly observer: Observer;
  /** The process with the keys. Undefined: this process pays nothing. */
  readonly wallet: Wallet | undefined;
  readonly broken: TellBroken;
}

/** Of play money, and for calls of the sandbox alone. Its key is worth nothing anywhere, and made when it is first needed. */
export function playPurses(): PurseFor {
  let payable: Payable | null = null;
  return (call) => {
    if (!call.sandbox) return null;
    if (payable === null) {
      const play = keySigner(hexOf(randomBytes(32)));
      const networks = { tempo: TEMPO_NETWORKS.tempo, x402: NETWORKS.base, clock: systemClock };
      payable = { ...networks, signers: { mpp: play, x402: play } };
    }
    return playPurse(call, payable);
  };
}

export async function openWallets(parts: WalletParts): Promise<OpenWallet> {
  const { config, stores, observer, wallet = NO_WALLET, broken } = parts;
  const onBroken = (error: unknown) => broken(error, "payments to merchants");
  wallet.onLost((error) => broken(error, "the wallet"));
  const networks = {
    tempo: TEMPO_NETWORKS[config.mppNetwork],
    x402: NETWORKS[config.x402Network],
    clock: systemClock,
  };
  const play = playPurses();
  if (config.mppWallet === null && config.x402Wallet === null)
    return { purseFor: play, admin: [], prove: null, reconciler: null };
  const { ledger, records } = stores;
  await openHouse(ledger);
  const books = walletBooks(ledger, { maxNano: config.walletNanoPerDay, owner: "wallet", clock: systemClock });
  const { signers } = wallet;
  const paying = { ...networks, signers, records, books, onBroken, told: observer.merchantPaid };
  const wallets = new Wallets(paying);
  const fetchOut = fetchThrough(config.proxies);
  const nodes = { mpp: config.mppRpcUrl, x402: config.x402RpcUrl };
  const giveBack = async (callId: string) => {
    const given = await ledger.refund(callId, `${callId}_back`, "the payment that it was charged for was not made");
    return given.outcome !== "unknown_transaction";
  };
  const reconciler = walletReconciler({ records, books, giveBack, clock: systemClock, nodes, fetchOut, onBroken });
  observer.onScrape({ walletPayments: () => reconciler.seen() });
  return {
    purseFor: (call) => (call.sandbox ? play(call) : wallets.purse(call)),
    prove: () => provePaid({ records, ledger, nodes, fetchOut }),
    admin: walletEndpoints({ records, books, signers, reconciler }),
    reconciler,
  };
}

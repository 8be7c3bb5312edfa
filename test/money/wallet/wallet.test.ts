// The wallet's process: it signs as the key does, and requests after its end are refused.
import { afterEach, expect, it } from "vitest";
import { addressOfKey } from "../../../src/money/wallet/keys.ts";
import { keySigner, type Signing } from "../../../src/money/wallet/signer.ts";
import { NO_WALLET, openWallet, type Wallet } from "../../../src/money/wallet/wallet.ts";

const MPP = `0x${"11".repeat(32)}` as const;
const X402 = `0x${"22".repeat(32)}` as const;
const GAS = `0x${"33".repeat(32)}` as const;
const TO = "0x000000000000000000000000000000000000dead";

const transfer: Signing = {
  kind: "transfer",
  transfer: {
    chainId: 4217,
    token: "0x20c0000000000000000000000000000000000000",
    to: TO,
    value: "30000",
    memo: `0x${"cd".repeat(32)}`,
    validBefore: 1_800_000_000,
    sponsored: false,
  },
};

let wallet: Wallet = NO_WALLET;
afterEach(() => wallet.close());

it("has an address for each key, and signs as it does", async () => {
  wallet = await openWallet({ mpp: MPP, x402: X402, gas: null });
  expect(wallet.signers.mpp?.address).toBe(addressOfKey(MPP));
  expect(wallet.signers.x402?.address).toBe(addressOfKey(X402));
  expect(await wallet.signers.mpp?.sign(transfer)).toBe(await keySigner(MPP).sign(transfer));
});

it("has no signer where there is no key", async () => {
  wallet = await openWallet({ mpp: null, x402: X402, gas: null });
  expect(wallet.signers.mpp).toBeNull();
});

it("refuses what it cannot sign, without a word of the key", async () => {
  wallet = await openWallet({ mpp: MPP, x402: null, gas: null });
  const bad = { ...transfer, transfer: { ...transfer.transfer, value: "none" } } as Signing;
  await expect(wallet.signers.mpp?.sign(bad)).rejects.toThrow(/^the wallet could not sign$/);
  expect(await wallet.signers.mpp?.sign(transfer)).toMatch(/^0x76/);
});

it("sends transactions with the key for gas alone, and signs no transfer with that", async () => {
  const transaction = { chainId: 8453, nonce: 0, to: TO, data: "0x", gasMax: 1, feeWeiMax: "2", tipWei: "1" } as const;
  const call: Signing = { kind: "transaction", transaction };
  wallet = await openWallet({ mpp: MPP, x402: X402, gas: GAS });
  expect(await wallet.gas?.sign(call)).toBe(await keySigner(GAS).sign(call));
  await expect(wallet.signers.x402?.sign(call)).rejects.toThrow("could not sign");
  await expect(wallet.gas?.sign(transfer)).rejects.toThrow("could not sign");
});

it("does not start with a key that its curve does not have, and names none", async () => {
  const none = `0x${"00".repeat(32)}` as const;
  await expect(openWallet({ mpp: null, x402: null, gas: none })).rejects.toThrow(/^the wallet's private key for gas/);
});

it("starts no process without a key", async () => {
  expect(await openWallet({ mpp: null, x402: null, gas: null })).toBe(NO_WALLET);
});

it("refuses everything once it is closed", async () => {
  const opened = await openWallet({ mpp: MPP, x402: null, gas: null });
  opened.close();
  await expect(opened.signers.mpp?.sign(transfer)).rejects.toThrow(/has ended/);
});

// Compares signatures with those that viem and ox make for the same transfers with the same key.
import { describe, expect, it } from "vitest";
import { addressOfKey, isPrivateKey, signatureOf, signerOf } from "../../../src/money/wallet/keys.ts";
import { signedTransfer } from "../../../src/money/wallet/tempo-transaction.ts";
import { authorizationDigest } from "../../../src/money/wallet/typed-data.ts";

const KEY = `0x${"11".repeat(31)}12` as const;
const ADDRESS = "0xc06d73162e9bffbcfbf1da59c511002a8f9155e5";
const DEAD = "0x000000000000000000000000000000000000dead";

describe("an authorization of EIP-3009", () => {
  const authorization = {
    from: ADDRESS,
    to: DEAD,
    value: "30000",
    validAfter: "0",
    validBefore: "1800000000",
    nonce: `0x${"ab".repeat(32)}`,
  } as const;
  const domain = {
    name: "USD Coin",
    version: "2",
    chainId: 8453,
    asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  } as const;

  it("is signed as viem signs it", () => {
    expect(signatureOf(authorizationDigest(authorization, domain), KEY)).toBe(
      "0x6407627cb70aec8289a6a42c9e726a9dd9cb9310aa2af43b8764f42d784168ed2bf53d1231176f98738f7734f7d2a33128d517a9d3c05012d9f321d0ca0e3dba1b",
    );
  });

  it("tells its signer, and nobody where a field was changed", () => {
    const signature = signatureOf(authorizationDigest(authorization, domain), KEY);
    expect(signerOf(authorizationDigest(authorization, domain), signature)).toBe(ADDRESS);
    expect(signerOf(authorizationDigest({ ...authorization, value: "30001" }, domain), signature)).not.toBe(ADDRESS);
    expect(signerOf(authorizationDigest(authorization, domain), "0x00")).toBeNull();
  });

  it("is signed by none with the twin of its signature, which is made without the key", () => {
    const digest = authorizationDigest(authorization, domain);
    const signature = signatureOf(digest, KEY);
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, "0");
    const v = signature.endsWith("1b") ? "1c" : "1b";
    expect(signerOf(digest, `0x${signature.slice(2, 66)}${s}${v}`)).toBeNull();
  });
});

describe("a transfer on Tempo", () => {
  const transfer = {
    chainId: 4217,
    token: "0x20C000000000000000000000b9537d11c60E8b50",
    to: DEAD,
    value: "30000",
    memo: `0x${"cd".repeat(32)}`,
    validBefore: 1_800_000_000,
  } as const;

  it("is signed as ox signs it", () => {
    expect(signedTransfer({ ...transfer, sponsored: false }, KEY)).toBe(
      "0x76f8fd821079808509502f9000830f4240f87ef87c9420c000000000000000000000b9537d11c60e8b5080b86495777d59000000000000000000000000000000000000000000000000000000000000dead0000000000000000000000000000000000000000000000000000000000007530cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdc0a0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff80846b49d200808080c0b8416e663f21d5b9337432c3a752c04eb554b7a25ff1b45597049412d323dc0e5c0d6ac5ee48562b703c73948da5df518195f384f9acabdf2f55b2e8b4650717e7d51c",
    );
  });

  it("leaves the network's fee to the one who is paid", () => {
    expect(signedTransfer({ ...transfer, sponsored: true }, KEY)).toBe(
      "0x76f8fd821079808509502f9000830f4240f87ef87c9420c000000000000000000000b9537d11c60e8b5080b86495777d59000000000000000000000000000000000000000000000000000000000000dead0000000000000000000000000000000000000000000000000000000000007530cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdc0a0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff80846b49d200808000c0b841d91b5b4ad0404376db18da5140cad284332852cd97b5ebbb5a61cddfac1e64c231e3c8f6ff25d46933e49f04d70a1a22380add59873d0fda47a384f62eb008451c",
    );
  });
});

describe("a private key", () => {
  it("has the address that viem gives it", () => {
    expect(addressOfKey(KEY)).toBe(ADDRESS);
  });

  it.each(["", "0x", `0x${"00".repeat(32)}`, `0x${"ff".repeat(32)}`, "11".repeat(32)])("is none as %j", (text) => {
    expect(isPrivateKey(text)).toBe(false);
  });
});

// Signatures of wallets, held against what another library of the field has made of the same keys.
import { describe, expect, it } from "vitest";
import {
  addressOf,
  bytesOf,
  hexOf,
  keccak256,
  recoverSigner,
  signatureHex,
  signDigest,
} from "../../src/evm/secp256k1.ts";
import { signTransaction } from "../../src/evm/transaction.ts";
import { authorizationDigest } from "../../src/evm/typed-data.ts";

const KEY = bytesOf("0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318");
const ADDRESS = "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23";
const USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const DOMAIN = { name: "USD Coin", version: "2", chainId: 8453, verifyingContract: USDC };
const AUTHORIZATION = {
  from: ADDRESS,
  to: "0x00000000000000000000000000000000000000aa",
  value: "10000",
  validAfter: "0",
  validBefore: "1900000000",
  nonce: `0x${"12".repeat(32)}`,
};
const SIGNATURE =
  "0xc1699f31f1737071e6da0a266ead0630a2b98ddc88598c3174b4f1823662ba430946752e4c308c98672f2801b5125dfe1bf1fcdf7c41a66557ecb88e504296001b";
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

it("a key has its address", () => {
  expect(addressOf(KEY)).toBe(ADDRESS);
});

describe("an authorization", () => {
  const digest = authorizationDigest(DOMAIN, AUTHORIZATION);

  it("is signed as other wallets sign it", () => {
    expect(signatureHex(signDigest(digest, KEY))).toBe(SIGNATURE);
  });

  it("names its signer", () => {
    expect(recoverSigner(digest, SIGNATURE)).toBe(ADDRESS);
  });

  it.each(["value", "nonce", "validBefore", "to"] as const)("with another %s was signed by another", (field) => {
    const other = field === "nonce" ? `0x${"13".repeat(32)}` : field === "to" ? USDC : "1";
    expect(recoverSigner(authorizationDigest(DOMAIN, { ...AUTHORIZATION, [field]: other }), SIGNATURE)).not.toBe(
      ADDRESS,
    );
  });

  it.each([{ name: "USDC" }, { version: "1" }, { chainId: 84532 }, { verifyingContract: ADDRESS }])(
    "within %o is another",
    (other) => {
      expect(recoverSigner(authorizationDigest({ ...DOMAIN, ...other }, AUTHORIZATION), SIGNATURE)).not.toBe(ADDRESS);
    },
  );

  it("is refused with the other signature that anybody can make of its own", () => {
    const { r, s, parity } = signDigest(digest, KEY);
    const high = bytesOf(`0x${(ORDER - BigInt(hexOf(s))).toString(16).padStart(64, "0")}`);
    expect(recoverSigner(digest, signatureHex({ r, s: high, parity: 1 - parity }))).toBeNull();
  });

  it.each(["0x", `0x${"00".repeat(65)}`, `0x${"ff".repeat(65)}`, `${SIGNATURE}00`, `${SIGNATURE.slice(0, -2)}00`])(
    "is signed by no one with %s",
    (signature) => {
      expect(recoverSigner(digest, signature)).toBeNull();
    },
  );

  it("of a number that no contract takes is no authorization", () => {
    expect(() => authorizationDigest(DOMAIN, { ...AUTHORIZATION, value: String(2n ** 256n) })).toThrow("32 bytes");
  });
});

describe("a transaction", () => {
  const fields = { chainId: 8453, tipWei: 1_000n, gasMax: 120_000n, to: USDC };

  it("of few bytes is what a node takes", () => {
    const { raw, hash } = signTransaction(
      { ...fields, nonce: 0, feeWeiMax: 1_000_000n, data: bytesOf("0xe3ee160e") },
      KEY,
    );
    expect(raw).toBe(
      "0x02f86e822105808203e8830f42408301d4c094833589fcd6edb6e08f4c7c32d4f71b54bda029138084e3ee160ec001a0211c4eb3dea732497605d651068c13ddad94e9a7bf0446f830e9e8289efa4d54a01efa230ac14b25b6d9d93acb3d052446b51b8bfb2893fc9676a86ca84628f352",
    );
    expect(hash).toBe("0xf4b72c7075598f1eb20864ffaa31fcf2a32992b9942c18a8e0289485285fc4af");
  });

  it("of many bytes has their length before them", () => {
    const data = bytesOf(`0x${"ab".repeat(100)}`);
    const { raw, hash } = signTransaction({ ...fields, nonce: 300, feeWeiMax: 123_456_789n, data }, KEY);
    expect(hexOf(keccak256(bytesOf(raw)))).toBe(hash);
    expect(hash).toBe("0x79197999bb42231a8aa68b02dea2e1a4b879ea2623cafce21247318868f00c4e");
  });
});

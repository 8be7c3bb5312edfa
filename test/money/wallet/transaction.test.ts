// Compares transactions with those that viem makes from the same fields with the same key.
import { describe, expect, it } from "vitest";
import { NETWORKS } from "../../../src/catalog/networks.ts";
import { signedTransaction, transactionHash } from "../../../src/money/wallet/transaction.ts";

const KEY = "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";

describe("a transaction", () => {
  const fields = { chainId: 8453, tipWei: "1000", gasMax: 120_000, to: NETWORKS.base.asset };

  it("of few bytes, and the first of its sender, is what a node takes", () => {
    const first = { ...fields, nonce: 0, feeWeiMax: "1000000", data: "0xe3ee160e" } as const;
    const signed = signedTransaction(first, KEY);
    expect({ raw: signed, hash: transactionHash(signed) }).toEqual({
      raw: "0x02f86e822105808203e8830f42408301d4c094833589fcd6edb6e08f4c7c32d4f71b54bda029138084e3ee160ec001a0211c4eb3dea732497605d651068c13ddad94e9a7bf0446f830e9e8289efa4d54a01efa230ac14b25b6d9d93acb3d052446b51b8bfb2893fc9676a86ca84628f352",
      hash: "0xf4b72c7075598f1eb20864ffaa31fcf2a32992b9942c18a8e0289485285fc4af",
    });
  });

  it("of many bytes has their length before them", () => {
    const later = { ...fields, nonce: 300, feeWeiMax: "123456789", data: `0x${"ab".repeat(100)}` } as const;
    expect(transactionHash(signedTransaction(later, KEY))).toBe(
      "0x79197999bb42231a8aa68b02dea2e1a4b879ea2623cafce21247318868f00c4e",
    );
  });
});

// The EIP-712 digest of an EIP-3009 authorization: a signed transfer that another party submits. Both directions of x402 use it.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOf, type Hex, word } from "./hex.ts";

/** One transfer that its sender authorizes (EIP-3009). Times are seconds since the epoch; valid strictly between them. */
export interface TransferAuthorization {
  readonly from: Hex;
  readonly to: Hex;
  /** In the coin's smallest unit. */
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  /** 32 bytes that the sender uses only once. */
  readonly nonce: Hex;
}

/** The coin's signing domain. A wrong name makes signatures invalid, with no error that says why. */
export interface CoinDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly asset: Hex;
}

const text = (value: string) => keccak_256(Buffer.from(value));
const DOMAIN = text("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
const TRANSFER = text(
  "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)",
);

/** The 32 bytes that the sender signs. */
export function authorizationDigest(authorization: TransferAuthorization, domain: CoinDomain): Uint8Array {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const { name, version, chainId, asset } = domain;
  const separator = keccak_256(
    Buffer.concat([DOMAIN, text(name), text(version), word(BigInt(chainId)), word(asset.toLowerCase())]),
  );
  const numbers = [value, validAfter, validBefore].map((number) => word(BigInt(number)));
  const message = keccak_256(Buffer.concat([TRANSFER, word(from), word(to), ...numbers, word(nonce)]));
  return keccak_256(Buffer.concat([bytesOf("0x1901"), separator, message]));
}

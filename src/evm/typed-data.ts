// What a wallet signs when it lets one transfer happen: the hash of an authorization (EIP-3009) within its coin's domain (EIP-712).
import { bytesOf, keccak256 } from "./secp256k1.ts";

/** The contract that a signature is good for, and the only one. */
export interface Domain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: string;
}

/** One transfer that its sender has signed. Any account may have it made, once, between two times (in seconds). */
export interface Authorization {
  readonly from: string;
  readonly to: string;
  /** In the coin's smallest unit, as decimal text. */
  readonly value: string;
  readonly validAfter: string;
  readonly validBefore: string;
  /** 32 bytes, chosen at random by the sender. */
  readonly nonce: string;
}

const text = (value: string) => keccak256(Buffer.from(value, "utf8"));
const DOMAIN = text("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
const TRANSFER = text(
  "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)",
);

/** A word of the contracts' machine: 32 bytes. Throws where the number has more. */
export function word(value: bigint | string): Uint8Array {
  const hex = BigInt(value).toString(16).padStart(64, "0");
  if (hex.length > 64) throw new Error("a number of more than 32 bytes");
  return Buffer.from(hex, "hex");
}

/** The fields of an authorization as a contract takes them, one after another. */
export function authorizationWords(authorization: Authorization): Uint8Array {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return Buffer.concat([word(from), word(to), word(value), word(validAfter), word(validBefore), bytesOf(nonce)]);
}

/** The hash that the sender of an authorization signs. Throws where a number has more than 32 bytes. */
export function authorizationDigest(domain: Domain, authorization: Authorization): Uint8Array {
  const { name, version, chainId, verifyingContract } = domain;
  const within = keccak256(
    Buffer.concat([DOMAIN, text(name), text(version), word(BigInt(chainId)), word(verifyingContract)]),
  );
  const said = keccak256(Buffer.concat([TRANSFER, authorizationWords(authorization)]));
  return keccak256(Buffer.concat([Uint8Array.of(0x19, 0x01), within, said]));
}

// A wallet with a key that signs a challenge as x402 clients do.
import { randomBytes } from "node:crypto";
import type { Requirements } from "../../../src/edge/x402/challenge.ts";
import { type Hex, hexOf } from "../../../src/money/wallet/hex.ts";
import { addressOfKey, signatureOf } from "../../../src/money/wallet/keys.ts";
import {
  type TransferAuthorization as Authorization,
  authorizationDigest,
} from "../../../src/money/wallet/typed-data.ts";

export interface KeyWallet {
  readonly address: string;
  /** The header of version 2; `more` replaces fields before signing, `after` after it. */
  pay(accepted: Requirements, more?: Partial<Authorization>, after?: Partial<Authorization>): string;
}

export function keyWallet(): KeyWallet {
  const key = hexOf(randomBytes(32));
  const address = addressOfKey(key);
  return {
    address,
    pay(accepted, more = {}, after = {}) {
      const { extra, asset, network, payTo: to, amount: value, maxTimeoutSeconds } = accepted;
      const validBefore = String(Math.floor(Date.now() / 1_000) + maxTimeoutSeconds);
      const plain = {
        from: address,
        to: to as Hex,
        value,
        validAfter: "0",
        validBefore,
        nonce: hexOf(randomBytes(32)),
      };
      const authorization = { ...plain, ...more };
      const chainId = Number(network.split(":")[1]);
      const digest = authorizationDigest(authorization, { ...extra, chainId, asset: asset as Hex });
      const signature = signatureOf(digest, key);
      const payload = { signature, authorization: { ...authorization, ...after } };
      return Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString("base64");
    },
  };
}

/** The requirements in a challenge's header. */
export function askedBy(response: Pick<Response, "headers">): Requirements {
  return (decoded(response.headers.get("payment-required")).accepts as Requirements[])[0] as Requirements;
}

export function decoded(header: string | null): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(header), "base64").toString("utf8")) as Record<string, unknown>;
}

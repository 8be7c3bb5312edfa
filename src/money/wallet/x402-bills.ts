// Bills of x402 version 2: the PAYMENT-REQUIRED header, paid by an EIP-3009 authorization that the merchant's facilitator submits.
import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { PaymentWanted } from "../../catalog/auth.ts";
import type { Network } from "../../catalog/networks.ts";
import { type Bill, type Bills, jsonIn, readBills, topicOf } from "./bill.ts";
import { type Hex, hexOf, isAddress } from "./hex.ts";

/** `AuthorizationUsed(address,bytes32)` of EIP-3009. */
const USED: Hex = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
/** The longest validity that we sign, whatever the merchant asks for. */
const GOOD_SECONDS_MAX = 300;
const ACCEPTS_MAX = 32;

const address = z.custom<Hex>(isAddress, "is no address");
const accepted = z.looseObject({
  scheme: z.literal("exact"),
  network: z.string(),
  amount: z.string().regex(/^[0-9]{1,30}$/),
  asset: address,
  payTo: address,
  maxTimeoutSeconds: z.number().int().min(1),
  extra: z.looseObject({ name: z.string(), version: z.string(), assetTransferMethod: z.string().optional() }),
});
type Accepted = z.infer<typeof accepted>;

const required = z.looseObject({
  x402Version: z.literal(2),
  resource: z.unknown().optional(),
  accepts: z.array(z.unknown()).max(ACCEPTS_MAX),
  extensions: z.unknown().optional(),
});

function billOf(asked: Accepted, network: Network, told: z.infer<typeof required>): Bill | string {
  const { name, version, assetTransferMethod = "eip3009" } = asked.extra;
  if (asked.network !== network.caip2) return "asks to be paid on another network";
  if (asked.asset.toLowerCase() !== network.asset.toLowerCase()) return "asks for another coin";
  if (name !== network.domain.name || version !== network.domain.version) return "names the coin as it is not named";
  if (assetTransferMethod !== "eip3009") return "wants the coin in another way than by an authorization";
  return {
    rail: "x402",
    network: network.caip2,
    asset: asked.asset,
    payTo: asked.payTo,
    units: BigInt(asked.amount),
    expiresMs: null,
    isSponsored: true,
    ready(from, nowMs) {
      const validBefore = Math.floor(nowMs / 1_000) + Math.min(asked.maxTimeoutSeconds, GOOD_SECONDS_MAX);
      const nonce = hexOf(randomBytes(32));
      const times = { validAfter: "0", validBefore: String(validBefore) };
      const authorization = { from, to: asked.payTo, value: asked.amount, ...times, nonce };
      const chainId = Number(network.caip2.split(":")[1]);
      return {
        signing: { kind: "authorization", authorization, domain: { ...network.domain, chainId, asset: asked.asset } },
        topics: [USED, topicOf(from), nonce],
        validBefore,
        headers(signature) {
          const { resource, extensions } = told;
          const payload = { signature, authorization };
          const payment = { x402Version: 2, resource, accepted: asked, payload, extensions };
          return { "payment-signature": Buffer.from(JSON.stringify(payment)).toString("base64") };
        },
      };
    },
  };
}

/** Reads the bills of a 402 in this protocol. */
export function x402Bills({ headers }: Pick<PaymentWanted, "headers">, network: Network): Bills {
  const header = headers["payment-required"];
  if (typeof header !== "string") return { bills: [], faults: [] };
  const told = required.safeParse(jsonIn(header));
  if (!told.success) return { bills: [], faults: ["asks in a form that is not understood (PAYMENT-REQUIRED)"] };
  return readBills(told.data.accepts, accepted, (asked) => billOf(asked, network, told.data));
}

// Parses a payment from a header, in either version of x402: an authorization of one transfer (EIP-3009) and its signature.
import { z } from "zod";
import type { Network } from "../../catalog/networks.ts";
import { GatewayError } from "../../core/errors.ts";
import { parsedJson } from "../../core/json.ts";
import type { Hex } from "../../money/wallet/hex.ts";
import type { Requirements } from "./challenge.ts";

const HEADERS = { "payment-signature": 2, "x-payment": 1 } as const;
const CHARACTERS_MAX = 8_192;

const hex = (regex: RegExp, wrong: string) =>
  z
    .string()
    .regex(regex, wrong)
    .transform((text) => text as Hex);
const address = hex(/^0x[0-9a-fA-F]{40}$/, "is no address");
const units = z.string().regex(/^[0-9]{1,78}$/, "must be a whole number as text");
const payload = z.object({
  signature: hex(/^0x(?:[0-9a-fA-F]{2}){65,2048}$/, "is no signature"),
  authorization: z.object({
    from: address,
    to: address,
    value: units,
    validAfter: units,
    validBefore: units,
    nonce: hex(/^0x[0-9a-fA-F]{64}$/, "must be 32 bytes"),
  }),
});
const accepted = z.object({
  scheme: z.string(),
  network: z.string(),
  amount: z.string(),
  asset: z.string(),
  payTo: z.string(),
});
const bodies = {
  2: z.object({ x402Version: z.literal(2), accepted, payload }),
  1: z.object({ x402Version: z.literal(1), scheme: z.string(), network: z.string(), payload }),
} as const;

/** A well-formed payment; the facilitator verifies it. */
export interface Payment {
  readonly version: 1 | 2;
  readonly sent: Readonly<Record<string, unknown>>;
  /** In lower case, like every part of its identity. */
  readonly from: string;
  readonly nonce: string;
  readonly asset: string;
  readonly network: string;
  readonly to: string;
  readonly value: string;
  /** In seconds since the epoch, exclusive. */
  readonly validBefore: number;
}

/** The identity of an authorization, whatever signature or spelling it has. */
export function nameOf({ network, asset, from, nonce }: Pick<Payment, "network" | "asset" | "from" | "nonce">): string {
  return `x402 ${network} ${asset} ${from} ${nonce}`;
}

function bad(header: string, detail: string): GatewayError {
  return new GatewayError("bad_request", { param: header, detail: `${header}: ${detail}` });
}

function jsonOf(text: string): unknown {
  if (text.length > CHARACTERS_MAX || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return parsedJson(Buffer.from(text, "base64").toString("utf8"));
}

export function readPayment(headers: ReadonlyMap<string, string>, terms: Network): Payment | GatewayError | null {
  for (const [header, version] of Object.entries(HEADERS)) {
    const text = headers.get(header);
    if (text === undefined) continue;
    const json = jsonOf(text);
    if (json === undefined) return bad(header, "must be JSON in base64");
    const read = bodies[version].safeParse(json);
    const [issue] = read.error?.issues ?? [];
    if (!read.success) return bad(header, `${issue?.path.join(".")} ${issue?.message}`);
    const { authorization } = read.data.payload;
    return {
      version,
      sent: json as Record<string, unknown>,
      from: authorization.from.toLowerCase(),
      nonce: authorization.nonce.toLowerCase(),
      asset: terms.asset.toLowerCase(),
      network: terms.caip2,
      to: authorization.to.toLowerCase(),
      value: authorization.value,
      validBefore: Number(authorization.validBefore),
    };
  }
  return null;
}

export function signedIn({ sent }: Payment): z.infer<typeof payload> {
  return payload.parse(sent.payload);
}

/** Why a payment does not match the requirements; null: it does. Does not check the signature. */
export function misfit(payment: Payment, requirements: Requirements, network: Network, nowMs: number): string | null {
  const { sent, version } = payment;
  const told = (version === 2 ? sent.accepted : sent) as Readonly<Record<string, string>>;
  if (told.scheme !== requirements.scheme) return "its scheme is not exact";
  if (told.network !== (version === 2 ? network.caip2 : network.name)) return `its network is not ${network.name}`;
  if (version === 2 && told.asset?.toLowerCase() !== network.asset.toLowerCase()) return "its asset is another";
  if (version === 2 && told.payTo?.toLowerCase() !== requirements.payTo.toLowerCase()) return "its payee is another";
  if (version === 2 && told.amount !== requirements.amount) return "the price is another";
  if (payment.to !== requirements.payTo.toLowerCase()) return "its payee is another";
  if (payment.value !== requirements.amount) return "it is not of the price";
  if (payment.validBefore * 1_000 <= nowMs) return "its time is over";
  return null;
}

// A sandbox merchant that charges per call: asks for payment as real ones do, in every way that its adapter can pay.
import type { IncomingHttpHeaders } from "node:http";
import type { ActionSpec } from "../catalog/action.ts";
import type { Rail } from "../catalog/auth.ts";
import { NETWORKS, TEMPO_NETWORKS, unitsOf } from "../catalog/networks.ts";
import { nanoFromCents } from "../core/money.ts";
import type { VendorWords } from "./action-body.ts";

/** An address without a known private key. */
const PAY_TO = "0x5A4d0b0000000000000000000000000000000001";
const LIFE_SECONDS = 60;

const inBase64 = (value: unknown, encoding: "base64" | "base64url") =>
  Buffer.from(JSON.stringify(value)).toString(encoding);

/** Whether a payment is where the merchant expects it. Any payment is accepted: no money moves. */
export function isPaid({ authorization = "", "payment-signature": signature }: IncomingHttpHeaders): boolean {
  return signature !== undefined || /^Payment [A-Za-z0-9_-]+$/.test(authorization);
}

/** The challenge of the Machine Payments Protocol, for the header WWW-Authenticate. */
function mppChallenge(amount: string, id: string): string {
  const { chainId, coins } = TEMPO_NETWORKS.tempo;
  const request = { amount, currency: coins[0], recipient: PAY_TO, methodDetails: { chainId } };
  const params = { id, realm: "sandbox", method: "tempo", intent: "charge", request: inBase64(request, "base64url") };
  return `Payment ${Object.entries(params)
    .map(([name, value]) => `${name}="${value}"`)
    .join(", ")}`;
}

/** The challenge of x402, version 2, for the header PAYMENT-REQUIRED. */
function x402Challenge(amount: string, url: string): string {
  const { caip2, asset, domain } = NETWORKS.base;
  const accepted = { scheme: "exact", network: caip2, amount, asset, payTo: PAY_TO, extra: domain };
  const accepts = [{ ...accepted, maxTimeoutSeconds: LIFE_SECONDS }];
  return inBase64({ x402Version: 2, error: "Payment required", resource: { url }, accepts }, "base64");
}

/** The headers of a 402 for this many cents. */
export function challenges(cents: number, rails: readonly Rail[], url: URL): Readonly<Record<string, string>> {
  const amount = unitsOf(nanoFromCents(cents));
  return {
    ...(rails.includes("mpp") ? { "www-authenticate": mppChallenge(amount, `sandbox:${url.pathname}`) } : {}),
    ...(rails.includes("x402") ? { "payment-required": x402Challenge(amount, url.href) } : {}),
  };
}

/** The 402 for an unpaid request; null if it is paid, or free. */
export function askedToPay(
  { price }: ActionSpec,
  rails: readonly Rail[] | undefined,
  { headers, url }: { readonly headers: IncomingHttpHeaders; readonly url: URL },
): VendorWords | null {
  if (price.paid === undefined || rails === undefined || isPaid(headers)) return null;
  const asks = challenges(price.paid.exampleCents, rails, url);
  const body = {
    type: "https://paymentauth.org/problems/payment-required",
    title: "Payment Required",
    status: 402,
    detail: "This request has to be paid.",
  };
  return { status: 402, headers: { ...asks, "cache-control": "no-store" }, body, isText: false };
}

// The payment challenge for callers without a key, in both versions of x402 at once: version 2 in a header, version 1 in the body.

import { type Network, unitsOf } from "../../catalog/networks.ts";
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";

/** From signature to settlement: longer than any action sold this way takes, with its retries. */
const TIMEOUT_SECONDS = 600;

export interface Terms {
  readonly payTo: string;
  readonly network: Network;
}

export interface Resource {
  readonly url: string;
  readonly description: string;
  /** The form of body and answer (the extension `bazaar`); null: unknown. */
  readonly bazaar: Readonly<Record<string, unknown>> | null;
}

/** The amount and how to pay it (`PaymentRequirements` of version 2). Depends only on the price. */
export interface Requirements {
  readonly scheme: "exact";
  readonly network: string;
  readonly amount: string;
  readonly asset: string;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: { readonly name: string; readonly version: string };
}

export function requirementsOf(priceNano: Nano, { payTo, network }: Terms): Requirements {
  return {
    scheme: "exact",
    network: network.caip2,
    amount: unitsOf(priceNano),
    asset: network.asset,
    payTo,
    maxTimeoutSeconds: TIMEOUT_SECONDS,
    extra: network.domain,
  };
}

/** The same in version 1, which also describes the resource. */
export function requirementsV1({ amount, ...rest }: Requirements, network: Network, { url, description }: Resource) {
  return {
    ...rest,
    network: network.name,
    maxAmountRequired: amount,
    resource: url,
    description,
    mimeType: "application/json",
    outputSchema: null,
  };
}

/** The encoding of x402's headers: standard base64 of JSON. */
export function inHeader(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64");
}

export interface Asking {
  readonly requirements: Requirements;
  readonly network: Network;
  readonly resource: Resource;
  readonly refused: string | null;
}

export function paymentRequired({ requirements, network, resource, refused }: Asking): GatewayError {
  const code: ErrorCode = "payment_required";
  const error = refused ?? "PAYMENT-SIGNATURE header is required";
  const { url, description, bazaar } = resource;
  const asked = {
    x402Version: 2,
    error,
    resource: { url, description, mimeType: "application/json" },
    accepts: [requirements],
    extensions: bazaar === null ? {} : { bazaar },
  };
  const detail = refused === null ? "This call needs a key or a payment." : `The payment is not good: ${refused}.`;
  return new GatewayError(code, {
    detail,
    headers: { "payment-required": inHeader(asked), "cache-control": "no-store" },
    body: { x402Version: 1, accepts: [requirementsV1(requirements, network, resource)] },
  });
}

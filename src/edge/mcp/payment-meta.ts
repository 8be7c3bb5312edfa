// Payments without an account over MCP (x402's transport for tools): the payment in `_meta`, challenge and receipt in the result.
import type { CallToolResult } from "@modelcontextprotocol/server";
import { isRecord } from "../../core/json.ts";
import type { InnerAnswer } from "./inner-http.ts";

const PAYMENT = "x402/payment";
const RECEIPT = "x402/payment-response";

/** A call's payment, as in the HTTP header; the endpoint validates it. */
export function paymentIn(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const payment = meta?.[PAYMENT];
  return payment === undefined ? undefined : Buffer.from(JSON.stringify(payment)).toString("base64");
}

function jsonIn(header: string): Record<string, unknown> {
  const json: unknown = JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  return isRecord(json) ? json : {};
}

/** The challenge as a tool's result; null: nothing is due. */
export function askedIn({ asked }: InnerAnswer): CallToolResult | null {
  if (asked === undefined) return null;
  const structuredContent = jsonIn(asked);
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent, isError: true };
}

export function withReceipt(result: CallToolResult, { receipt }: InnerAnswer): CallToolResult {
  return receipt === undefined ? result : { ...result, _meta: { [RECEIPT]: jsonIn(receipt) } };
}

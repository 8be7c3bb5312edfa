// Asks the person behind the client before a purchase, where the client can ask (MCP 2026-07-28, multi-round-trip requests).
import { createHash } from "node:crypto";
import type { CallToolResult, ClientCapabilities, InputRequiredResult } from "@modelcontextprotocol/server";
import { isRecord } from "../../core/json.ts";
import { failed } from "./results.ts";
import type { Tool } from "./tools.ts";

const QUESTION = "purchase";
const PARAMS_CHARS_MAX = 500;

/** The state of the question in one call of a client. */
export interface Asked {
  /** The client's responses to an earlier question; undefined: none. */
  readonly responses: Readonly<Record<string, unknown>> | undefined;
  readonly state: unknown;
}

/** Whether the client supports forms: one that names no mode supports them (MCP 2025-11-25, elicitation). */
export function canAsk(capabilities: ClientCapabilities | undefined): boolean {
  const { elicitation } = capabilities ?? {};
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** The most that a purchase may cost, in cents; null: it has no limit yet, and is refused for that. */
function mostCents({ buys }: Tool, args: Readonly<Record<string, unknown>>): number | null {
  if (buys === undefined) return null;
  const { max_cost_cents: given } = args;
  if (typeof given === "number") return Math.min(given, buys.centsMax);
  return buys.needsMaxCost ? null : buys.centsMax;
}

/** The question, or the person's refusal; null: proceed. An answer is valid only for the same call with the same arguments. */
export function questionBefore(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  asked: Asked,
): InputRequiredResult | CallToolResult | null {
  const cents = mostCents(tool, args);
  if (cents === null) return null;
  const state = createHash("sha256")
    .update(JSON.stringify([tool.title, args]))
    .digest("base64url");
  const answer = asked.state === state ? asked.responses?.[QUESTION] : undefined;
  if (!isRecord(answer)) {
    const told = JSON.stringify(isRecord(args.params) ? args.params : args).slice(0, PARAMS_CHARS_MAX);
    const message = `Buy by ${tool.title}, for ${cents} cents at most? ${told}`;
    const requestedSchema = {
      type: "object" as const,
      properties: { buy: { type: "boolean" as const, title: "Buy it", default: false } },
      required: ["buy"],
    };
    const params = { mode: "form" as const, message, requestedSchema };
    const inputRequests = { [QUESTION]: { method: "elicitation/create" as const, params } };
    return { resultType: "input_required", inputRequests, requestState: state };
  }
  const isYes = answer.action === "accept" && isRecord(answer.content) && answer.content.buy === true;
  return isYes ? null : failed("purchase_declined");
}

// Requests for the tests of the official client: every kind of name, with the same tools, and how their tokens count.
import type OpenAI from "openai";
import { eventually, type TestGateway } from "../../support/gateway.ts";

/** The requested name, and the slug that must answer. */
export const NAMES = [
  ["sandbox/ok", "sandbox/ok"],
  ["sandbox-messages/ok", "sandbox-messages/ok"],
  ["sandbox-gemini/ok", "sandbox-gemini/ok"],
  ["sandbox-responses/ok", "sandbox-responses/ok"],
  ["sandbox-converse/ok", "sandbox-converse/ok"],
  ["core/cheap", "openai/gpt-6-luna"],
  ["core/mid", "openai/gpt-6.1-terra"],
  ["best", "anthropic/claude-opus-5.5"],
  ["openai/gpt-5.4-nano", "openai/gpt-5.4-nano"],
  ["anthropic/claude-haiku-4.5", "anthropic/claude-haiku-4.5"],
  ["google/gemini-3.5-flash-lite", "google/gemini-3.5-flash-lite"],
] as const;

export const TOOLS: OpenAI.ChatCompletionFunctionTool[] = ["get_weather", "get_forecast"].map((name) => ({
  type: "function",
  function: {
    name,
    description: "Tells the weather.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 7 } },
      required: ["city", "days"],
      additionalProperties: false,
    },
  },
}));

export function user(content: OpenAI.ChatCompletionUserMessageParam["content"]): OpenAI.ChatCompletionMessageParam[] {
  return [{ role: "user", content }];
}

export function words(text: string | null | undefined): number {
  return (text ?? "").split(" ").filter(Boolean).length;
}

/** Settles once a request's upstream has noticed that the client left. */
export async function upstreamLeft(gateway: TestGateway, id: string | null): Promise<void> {
  await eventually(async () => {
    const { requests } = await gateway.books();
    return requests.find(({ requestId, ended }) => requestId === id && ended === "aborted");
  }, "the upstream to hear of it");
}

// Translates a request to OpenAI's responses wire.

import { defined, type Json } from "../../../core/json.ts";
import type { NeutralRequest, ReasoningAsk } from "../../../core/neutral.ts";
import { unfit } from "../../../upstream/dialects/chat-completions-fit.ts";
import type { ChatContext, UpstreamBody } from "../../../upstream/dialects/dialect.ts";
import { withoutDropped } from "../../../upstream/dialects/dropped-fields.ts";
import { effortOf } from "../../../upstream/dialects/thinking-budget.ts";
import { fitOf, NEUTRAL_TOOLS } from "../../../upstream/dialects/tool-fit.ts";
import { formatOf } from "./vendor-answer.ts";
import { inputOf } from "./vendor-input.ts";
import { plainFields } from "./vendor-plain.ts";

/** The wire's lowest output limit. */
const OUTPUT_TOKENS_MIN = 16;

/** Fields with the same name in OpenAI's chat wire. All other foreign fields are dropped. */
const SHARED = ["prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "metadata"];

function toolFields({ tools, toolChoice, parallelToolCalls }: NeutralRequest): Json {
  const functions = tools.filter((tool) => tool.kind === "function");
  if (functions.length === 0) return {};
  return {
    // Unlike chat completions, this format treats functions as strict by default.
    tools: functions.map(({ name, description, parameters, strict }) =>
      defined({
        type: "function",
        name,
        description: description ?? undefined,
        parameters: parameters ?? { type: "object", properties: {} },
        strict,
      }),
    ),
    tool_choice: toolChoice?.mode === "named" ? { type: "function", name: toolChoice.name } : toolChoice?.mode,
    parallel_tool_calls: parallelToolCalls ?? undefined,
  };
}

function textOf({ format, extra }: NeutralRequest): Json | undefined {
  const text = defined({ format: formatField(format), verbosity: extra.verbosity });
  return Object.keys(text).length > 0 ? text : undefined;
}

function formatField(format: NeutralRequest["format"]): Json | undefined {
  if (format === null) return undefined;
  if (format.kind === "json") return { type: "json_object" };
  const { name, schema, strict } = format;
  return defined({ type: "json_schema", name: name ?? "answer", schema, strict: strict ?? undefined });
}

function reasoningOf(ask: ReasoningAsk | null, { wire }: ChatContext): Json | undefined {
  const effort = wire.reasoning === "none" ? undefined : effortOf(ask);
  // Vendors give summaries only to verified organisations, and reject requests of others; the adapter says whether to request them.
  const summary = ask !== null && !ask.off && !ask.exclude ? wire.reasoningSummary : undefined;
  const reasoning = defined({ effort, summary });
  return Object.keys(reasoning).length > 0 ? reasoning : undefined;
}

/** The request in the responses wire. Nothing is stored at the vendor: what later turns need comes back sealed. */
export function responsesRequest(request: NeutralRequest, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(fitOf(context, "responses").fitted(request, NEUTRAL_TOOLS), context);
  const { reasoning, sampling, user, extra } = asked;
  const { spec, wire } = context;
  const { items } = inputOf(asked.turns, formatOf(context));
  const sent = defined({
    model: context.upstreamModel,
    input: items,
    max_output_tokens: context.outputTokensMax,
    store: false,
    include: wire.reasoning === "none" ? undefined : ["reasoning.encrypted_content"],
    ...toolFields(asked),
    text: textOf(asked),
    ...(wire.takes?.responsesForm === "plain" ? plainFields(items, asked) : {}),
    reasoning: reasoningOf(reasoning, context),
    temperature: sampling.temperature ?? undefined,
    top_p: sampling.topP ?? undefined,
    user: user ?? undefined,
    ...Object.fromEntries(SHARED.map((field) => [field, extra[field]])),
    stream: context.stream ? true : undefined,
    stream_options: context.stream ? spec.streamOptions : undefined,
  });
  return { path: "/responses", body: Object.assign(sent, wire.extraFields) };
}

/** Why the responses wire cannot express the request; null if it can. */
export function responsesUnsupported(request: NeutralRequest, context: ChatContext): string | null {
  const asked = withoutDropped(request, context);
  const [foreign] = asked.foreign;
  if (foreign !== undefined) return foreign.reason;
  const why = unfit({ tools: asked.tools, choices: asked.choices }, context.wire);
  if (why !== null) return why;
  if (asked.choices > 1) return "n above 1 has no place in its wire";
  if (asked.stops.length > 0) return "stop has no place in its wire";
  if (context.outputTokensMax < OUTPUT_TOKENS_MIN)
    return `max_tokens below ${OUTPUT_TOKENS_MIN} are refused by its wire`;
  const server = asked.tools.find((tool) => tool.kind === "server");
  if (server?.kind === "server") return `tools of type ${server.type} have no place in its wire`;
  return inputOf(asked.turns, formatOf(context)).reason;
}

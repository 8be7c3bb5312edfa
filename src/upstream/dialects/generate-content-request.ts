// Puts an OpenAI chat request into the generate-content wire.
import { budgetOf, reasoningOf } from "./chat-reasoning.ts";
import {
  defined,
  type FunctionTool,
  foreignField,
  type Json,
  messagesOf,
  numberOf,
  responseFormatOf,
  stopsOf,
  toolChoiceOf,
  toolsOf,
  withoutDropped,
} from "./chat-request.ts";
import type { ChatBody, ChatContext, UpstreamBody } from "./dialect.ts";
import { type ConversationRules, conversationOf } from "./generate-content-turns.ts";
import { formatOf } from "./generate-content-wire.ts";

const STOPS_MAX = 5;
const CANDIDATES_MAX = 8;
const SEED_MAX = 2 ** 31 - 1;

/** The least budget that every thinking model takes, and the least that one takes which cannot do without. */
const BUDGET_MIN = 512;
const BUDGET_ALWAYS_MIN = 128;

/** The wire's words for effort; there is none above `HIGH`. */
const LEVEL: Readonly<Record<string, string>> = {
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};

/** Models that are told by a word are the ones that also insist on signatures. */
function rulesOf(context: ChatContext): ConversationRules {
  const how = context.wire.reasoning;
  return { format: formatOf(context), signaturesNeeded: how === "effort" || how === "effort-always" };
}

/** Thoughts count within `maxOutputTokens`, so a budget never exceeds what the request may cost. */
function thinkingConfig(body: ChatBody, context: ChatContext): Json | undefined {
  const ask = reasoningOf(body);
  const how = context.wire.reasoning ?? "budget";
  if (ask === null || how === "none") return undefined;
  const shown = { includeThoughts: !ask.exclude };
  switch (how) {
    case "budget":
      if (ask.off || context.outputTokensMax <= BUDGET_MIN) return { thinkingBudget: 0 };
      return { ...shown, thinkingBudget: budgetOf(ask, context.outputTokensMax, BUDGET_MIN) };
    case "budget-always":
      if (ask.off) return { thinkingBudget: BUDGET_ALWAYS_MIN };
      if (context.outputTokensMax <= BUDGET_ALWAYS_MIN) return shown;
      return { ...shown, thinkingBudget: budgetOf(ask, context.outputTokensMax, BUDGET_ALWAYS_MIN) };
    default: {
      const least = how === "effort" ? "MINIMAL" : "LOW";
      if (ask.off) return { thinkingLevel: least };
      return defined({ ...shown, thinkingLevel: ask.effort === "minimal" ? least : LEVEL[ask.effort ?? ""] });
    }
  }
}

function declarationOf(tool: FunctionTool): Json {
  return defined({ name: tool.name, description: tool.description, parametersJsonSchema: tool.parameters });
}

function toolFields(body: ChatBody): Json {
  const tools = toolsOf(body);
  if (tools.length === 0) return {};
  const declared = { tools: [{ functionDeclarations: tools.map(declarationOf) }] };
  const choice = toolChoiceOf(body);
  if (choice === null) return declared;
  const calling =
    choice.mode === "named"
      ? { mode: "ANY", allowedFunctionNames: [choice.name] }
      : { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[choice.mode] };
  return { ...declared, toolConfig: { functionCallingConfig: calling } };
}

function generationConfig(body: ChatBody, context: ChatContext): Json {
  const stops = stopsOf(body);
  const seed = numberOf(body.seed);
  const candidates = numberOf(body.n) ?? 1;
  const format = responseFormatOf(body);
  return defined({
    maxOutputTokens: context.outputTokensMax,
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    topK: numberOf(body.top_k),
    presencePenalty: numberOf(body.presence_penalty),
    frequencyPenalty: numberOf(body.frequency_penalty),
    seed: seed !== undefined && Number.isInteger(seed) && Math.abs(seed) <= SEED_MAX ? seed : undefined,
    candidateCount: candidates > 1 ? candidates : undefined,
    stopSequences: stops.length > 0 ? stops : undefined,
    responseMimeType: format === null ? undefined : "application/json",
    responseJsonSchema: format?.kind === "schema" ? format.schema : undefined,
    thinkingConfig: thinkingConfig(body, context),
  });
}

/** The request in the generate-content wire. Fields without a place in it are left out; see the function below. */
export function generateContentRequest(body: ChatBody, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(body, context);
  const { system, turns } = conversationOf(messagesOf(asked), rulesOf(context));
  const sent = defined({
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents: turns,
    ...toolFields(asked),
    generationConfig: generationConfig(asked, context),
    safetySettings: Array.isArray(asked.safetySettings) ? asked.safetySettings : undefined,
  });
  const model = encodeURIComponent(context.upstreamModel.toWellFormed());
  const method = context.stream ? "streamGenerateContent?alt=sse" : "generateContent";
  return { path: `/models/${model}:${method}`, body: Object.assign(sent, context.wire.extraFields) };
}

/** Why the request cannot be put into the generate-content wire without losing its meaning; null where it can. */
export function generateContentUnsupported(body: ChatBody, context: ChatContext): string | null {
  const asked = withoutDropped(body, context);
  const foreign = foreignField(asked);
  if (foreign !== null) return foreign;
  if ((numberOf(asked.n) ?? 1) > CANDIDATES_MAX) return `n above ${CANDIDATES_MAX} is refused by its wire`;
  if (stopsOf(asked).length > STOPS_MAX) return `stop with more than ${STOPS_MAX} stops is refused by its wire`;
  if (asked.parallel_tool_calls === false && toolsOf(asked).length > 0) {
    return "parallel_tool_calls: false has no place in its wire";
  }
  const rules = rulesOf(context);
  // The models that are told to think by a budget take a format or tools, the newer ones both.
  if (!rules.signaturesNeeded && responseFormatOf(asked) !== null && toolsOf(asked).length > 0) {
    return "tools together with a response_format are refused by this model";
  }
  return conversationOf(messagesOf(asked), rules).reason;
}

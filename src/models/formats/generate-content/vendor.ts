// The wire of the generateContent API: contents made of parts, and streams where every event is a part of the whole answer.

import { defined, type Json } from "../../../core/json.ts";
import type { Effort, NeutralRequest } from "../../../core/neutral.ts";
import type { ChatContext, Dialect, UpstreamBody } from "../../../upstream/format-kit/dialect.ts";
import { withoutDropped } from "../../../upstream/format-kit/dropped-fields.ts";
import { generateContentError } from "../../../upstream/format-kit/error-body.ts";
import { formatOf } from "../../../upstream/format-kit/open-blocks.ts";
import { budgetOf } from "../../../upstream/format-kit/thinking-budget.ts";
import { fitOf, NEUTRAL_TOOLS } from "../../../upstream/format-kit/tool-fit.ts";
import { GenerateContentReader } from "./vendor-answer.ts";
import { type ConversationRules, conversationOf } from "./vendor-turns.ts";

// Translates a request to the generate-content wire.

const STOPS_MAX = 5;
const CANDIDATES_MAX = 8;
const SEED_MAX = 2 ** 31 - 1;

/** The lowest budget that every thinking model accepts, and the lowest of those that cannot turn thinking off. */
const BUDGET_MIN = 512;
const BUDGET_ALWAYS_MIN = 128;

/** The wire's effort levels; there is none above `HIGH`. */
const LEVEL: Readonly<Record<Effort, string>> = {
  minimal: "MINIMAL",
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};

/** Models that accept an effort level also require signatures. */
function rulesOf(context: ChatContext): ConversationRules {
  const how = context.wire.reasoning;
  const hasIds = context.wire.takes?.toolIds !== "none";
  return {
    format: formatOf(context, "generate-content"),
    signaturesNeeded: how === "effort" || how === "effort-always",
    hasIds,
  };
}

/** Thoughts count toward `maxOutputTokens`, so a budget never exceeds what the request may cost. */
function thinkingConfig({ reasoning: ask }: NeutralRequest, context: ChatContext): Json | undefined {
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
      if (ask.effort === null) return shown;
      return { ...shown, thinkingLevel: ask.effort === "minimal" ? least : LEVEL[ask.effort] };
    }
  }
}

function toolFields({ tools, toolChoice: choice }: NeutralRequest): Json {
  if (tools.length === 0) return {};
  const functionDeclarations = tools
    .filter((tool) => tool.kind === "function")
    .map(({ name, description, parameters }) =>
      defined({ name, description: description ?? undefined, parametersJsonSchema: parameters ?? undefined }),
    );
  const declared = { tools: [{ functionDeclarations }] };
  if (choice === null) return declared;
  const calling =
    choice.mode === "named"
      ? { mode: "ANY", allowedFunctionNames: [choice.name] }
      : { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[choice.mode] };
  return { ...declared, toolConfig: { functionCallingConfig: calling } };
}

function generationConfig(asked: NeutralRequest, context: ChatContext): Json {
  const { stops, choices, format } = asked;
  const { temperature, topP, topK, presencePenalty, frequencyPenalty, seed } = asked.sampling;
  return defined({
    maxOutputTokens: context.outputTokensMax,
    temperature: temperature ?? undefined,
    topP: topP ?? undefined,
    topK: topK ?? undefined,
    presencePenalty: presencePenalty ?? undefined,
    frequencyPenalty: frequencyPenalty ?? undefined,
    seed: seed !== null && Number.isInteger(seed) && Math.abs(seed) <= SEED_MAX ? seed : undefined,
    candidateCount: choices > 1 ? choices : undefined,
    stopSequences: stops.length > 0 ? stops : undefined,
    responseMimeType: format === null ? undefined : "application/json",
    responseJsonSchema: format?.kind === "schema" ? format.schema : undefined,
    thinkingConfig: thinkingConfig(asked, context),
  });
}

/** The request in the generate-content wire. Drops fields that it cannot express; see the function below. */
function generateContentRequest(request: NeutralRequest, context: ChatContext): UpstreamBody {
  const asked = withoutDropped(fitOf(context, "generate-content").fitted(request, NEUTRAL_TOOLS), context);
  const { system, turns } = conversationOf(asked.turns, rulesOf(context));
  const { safetySettings } = asked.extra;
  const sent = defined({
    systemInstruction: system.length > 0 ? { parts: system } : undefined,
    contents: turns,
    ...toolFields(asked),
    generationConfig: generationConfig(asked, context),
    safetySettings: Array.isArray(safetySettings) ? safetySettings : undefined,
  });
  const model = encodeURIComponent(context.upstreamModel.toWellFormed());
  const method = context.stream ? "streamGenerateContent?alt=sse" : "generateContent";
  return { path: `/models/${model}:${method}`, body: Object.assign(sent, context.wire.extraFields) };
}

function generateContentUnsupported(request: NeutralRequest, context: ChatContext): string | null {
  const asked = withoutDropped(request, context);
  const [foreign] = asked.foreign;
  if (foreign !== undefined) return foreign.reason;
  if (asked.choices > CANDIDATES_MAX) return `n above ${CANDIDATES_MAX} is refused by its wire`;
  if (asked.stops.length > STOPS_MAX) return `stop with more than ${STOPS_MAX} stops is refused by its wire`;
  const { tools } = asked;
  const server = tools.find((tool) => tool.kind === "server");
  if (server !== undefined) return `tools of type ${server.type} have no place in its wire`;
  if (asked.parallelToolCalls === false && tools.length > 0)
    return "parallel_tool_calls: false has no place in its wire";
  const rules = rulesOf(context);
  // Models with a thinking budget accept either a format or tools; newer ones accept both.
  if (!rules.signaturesNeeded && asked.format !== null && tools.length > 0)
    return "tools together with a response_format are refused by this model";
  return conversationOf(asked.turns, rules).reason;
}

export const generateContent: Dialect = {
  wire: "generate-content",
  passing: null,
  end: null,
  grows: "contents",
  fetches: "https-typed",
  request: generateContentRequest,
  reader: (context, out) => new GenerateContentReader(context, out),
  error: generateContentError,
  unsupported: generateContentUnsupported,
};

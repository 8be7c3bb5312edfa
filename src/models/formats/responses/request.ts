// Reads a request in the responses format: keeps the body for vendors of the same format, and translates it for others.
import { defined, isRecord, numberOf, stringOf } from "../../../core/json.ts";
import type { CallerRequest, NeutralRequest, ReasoningAsk, ResponseFormat } from "../../../core/neutral.ts";
import { once } from "../neutral-blocks.ts";
import { effortOf, responseFormat, samplingOf } from "../request-parts.ts";
import type { ResponsesBody } from "./fields.ts";
import { ResponsesTools, toolLists } from "./tools.ts";
import { turnsOf } from "./turns.ts";

export const WIRE = "responses";

const LOGPROBS = "message.output_text.logprobs";

/** `reasoning.effort`. A summary alone leaves it to the model whether to think. */
function reasoningOf({ reasoning }: ResponsesBody): ReasoningAsk | null {
  const effort = isRecord(reasoning) ? stringOf(reasoning.effort) : undefined;
  if (effort === undefined) return null;
  return {
    off: effort === "none",
    effort: effortOf(effort),
    budgetTokens: null,
    exclude: isRecord(reasoning) && reasoning.summary === null,
  };
}

function formatOf({ text }: ResponsesBody): ResponseFormat | null {
  const format = isRecord(text) ? text.format : null;
  return isRecord(format) ? responseFormat(format.type, format) : null;
}

export function includes({ include }: ResponsesBody, what: string): boolean {
  return Array.isArray(include) && include.includes(what);
}

function foreignFields(body: ResponsesBody): NeutralRequest["foreign"] {
  const wantsLogprobs = includes(body, LOGPROBS) || (numberOf(body.top_logprobs) ?? 0) > 0;
  return wantsLogprobs ? [{ field: "top_logprobs", reason: "top_logprobs has no place in its wire" }] : [];
}

function neutralOf(body: ResponsesBody): NeutralRequest {
  const tools = new ResponsesTools(body);
  const { text, prompt_cache_key, safety_identifier } = body;
  return {
    turns: turnsOf(body, tools),
    tools: tools.offered(),
    toolChoice: tools.choice(),
    parallelToolCalls: typeof body.parallel_tool_calls === "boolean" ? body.parallel_tool_calls : null,
    format: formatOf(body),
    sampling: samplingOf(body),
    reasoning: reasoningOf(body),
    stops: [],
    choices: 1,
    user: stringOf(body.user) ?? null,
    cacheMark: false,
    extra: defined({
      verbosity: isRecord(text) ? stringOf(text.verbosity) : undefined,
      prompt_cache_key: stringOf(prompt_cache_key),
      safety_identifier: stringOf(safety_identifier),
    }),
    foreign: foreignFields(body),
  };
}

export function responsesRequest(body: ResponsesBody): CallerRequest {
  return {
    wire: WIRE,
    body,
    mayBeEmpty: false,
    usesTools: toolLists(body).length > 0,
    reasoning: () => reasoningOf(body),
    format: () => formatOf(body),
    neutral: once(() => neutralOf(body)),
  };
}

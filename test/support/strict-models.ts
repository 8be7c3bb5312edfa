// The rejections of single models in wires that their vendors' other models share: of sampling parameters while they think, and of the
// wrong form of thinking. Written only from error texts that users have reported, not from our own code.
import type { Check, Refusal } from "./strict-clouds.ts";

type Json = Record<string, unknown>;

function refused(message: string, param: string): Refusal {
  return {
    status: 400,
    body: { error: { message, type: "invalid_request_error", param, code: "unsupported_parameter" } },
  };
}

const SAMPLING = ["temperature", "top_p", "presence_penalty", "frequency_penalty"];
/** These think only on request; gpt-5.5 unless told not to; all others of their kind always. */
const MAY_THINK = /^gpt-5\.[124]/;
const MAY_NOT_THINK = /^gpt-5\.5/;
const NEVER_THINKS = /^gpt-4/;

/** OpenAI's models in both of its wires. */
export const openaiSampling: Check = (body) => {
  const model = String(body.model ?? "").replace(/^prod-mini$/, "gpt-5.4-mini");
  if (NEVER_THINKS.test(model) || body.model === undefined) return null;
  const effort = body.reasoning_effort ?? (body.reasoning as Json | undefined)?.effort;
  const thinks = MAY_THINK.test(model)
    ? effort !== undefined && effort !== "none"
    : !MAY_NOT_THINK.test(model) || effort !== "none";
  const field = thinks ? SAMPLING.find((name) => body[name] !== undefined) : undefined;
  return field === undefined
    ? null
    : refused(`Unsupported parameter: '${field}' is not supported with this model.`, field);
};

const RESPONSES = new Set([
  ...["model", "input", "instructions", "max_output_tokens", "stream", "stream_options", "store", "include", "tools"],
  ...["tool_choice", "parallel_tool_calls", "text", "reasoning", "temperature", "top_p", "top_logprobs", "user"],
  ...["prompt_cache_key", "safety_identifier", "truncation", "max_tool_calls", "metadata", "service_tier"],
]);

/** OpenAI's newer wire. */
export const openaiResponses: Check = (body, url) => {
  const extra = Object.keys(body).find((field) => !RESPONSES.has(field));
  return extra === undefined ? openaiSampling(body, url) : refused(`Unknown parameter: '${extra}'.`, extra);
};

/** Claude's models in their own wire: newer ones take an effort level, older ones a token budget. */
export const claudeThinking: Check = (body) => {
  const say = (message: string): Refusal => {
    return { status: 400, body: { type: "error", error: { type: "invalid_request_error", message } } };
  };
  const isNewer = /opus-(4-[789]|[5-9])|sonnet-[5-9]|haiku-[5-9]|fable/.test(String(body.model));
  const type = (body.thinking as Json | undefined)?.type;
  if (isNewer && type === "enabled")
    return say(
      '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort".',
    );
  if (!isNewer && type === "adaptive") return say("adaptive thinking is not supported on this model");
  const sampled = isNewer ? ["temperature", "top_p", "top_k"].find((field) => body[field] !== undefined) : undefined;
  return sampled === undefined ? null : say(`\`${sampled}\` is deprecated for this model.`);
};

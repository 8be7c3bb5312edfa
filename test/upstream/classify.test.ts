// How a vendor's refusal is classified. A caller's own words in it must not look like our error.
import { describe, expect, it } from "vitest";
import { FAILURES } from "../../src/core/failures.ts";
import { classify } from "../../src/upstream/classify.ts";

function kindOf(status: number, words: readonly string[], message: string): string {
  return classify(status, { words, message }, null).kind;
}

const INVALID = "invalid_request_error";

describe("a refusal that repeats what the caller wrote is the caller's", () => {
  it.each([
    "Invalid schema for function 'process_payment': None is not of type 'object'",
    "Invalid value: 'invalid_api_key'. Supported values are: 'low', 'medium' and 'high'.",
    "tools.0.custom.input_schema.properties.billing address.type: Input should be 'string'",
    "tools.0.custom.input_schema.properties.your credit balance is too low: Input should be an object",
    "Invalid 'tool_choice': function 'model' does not exist",
    "messages.3: `tool_use` id 'authentication' was not found",
    "response_format: deprecated",
    "Unknown name \"permission\" at 'generation_config': Cannot find field.",
    "Invalid value at 'safety_settings[0]' (type.googleapis.com), 1",
    "rate_limit is not a known field; too many requests of this kind",
  ])("%s", (message) => {
    expect(kindOf(400, [INVALID], message)).toBe("caller_invalid");
  });
});

describe("a refusal of a field is no verdict on content, and another vendor may know the field", () => {
  it.each([
    "property 'safety_identifier' is unsupported",
    "safety_identifier: property 'safety_identifier' is unsupported",
    "Unknown parameter: 'safety_identifier'.",
    "Unrecognized request argument supplied: moderation",
    "safety_identifier: Extra inputs are not permitted",
    "Extra inputs are not permitted, field: 'safety_identifier', value: 's'",
    'Invalid JSON payload received. Unknown name "safetySettings": Cannot find field.',
    "Invalid schema for function 'safety_check': None is not of type 'object'",
    "tools.0.custom.input_schema.properties.blocked.type: Input should be 'string'",
    "#: extraneous key [moderation] is not permitted",
    '{"detail":[{"type":"extra_forbidden","loc":["body","safety_identifier"],"msg":"Extra inputs are not permitted"}]}',
    "messages.0.content: the tool `content_filter` was not declared",
  ])("%s", (message) => {
    const { nextRoute } = FAILURES[classify(400, { words: [INVALID], message }, null).kind];
    expect(nextRoute).not.toBe(false);
  });

  it.each([
    [400, [INVALID], "Your request was rejected as a result of our safety system."],
    [400, ["content_filter"], "The response was filtered due to the prompt triggering our content management policy."],
    [400, ["moderation_blocked"], "Unknown parameter: 'x'"],
    [400, [], "Output blocked by content filtering policy"],
    [403, [], "openai/gpt requires moderation. Your input was flagged for 'violence'."],
    [200, ["prohibited_content"], ""],
    [422, [], "Content violates safety guidelines: 'bomb'"],
  ] as const)("but a verdict is one: %i %j %s", (status, words, message) => {
    expect(kindOf(status, words, message)).toBe("policy_content");
  });
});

describe("a refusal that is about us is ours, whatever its status", () => {
  it.each([
    [400, [INVALID], "Your credit balance is too low to access the API.", "provider_billing"],
    [400, ["failed_precondition"], "Please enable billing on your project.", "provider_billing"],
    [400, ["insufficient_quota"], "", "provider_billing"],
    [422, [], "Insufficient balance", "provider_billing"],
    [400, ["invalid_argument", "api_key_invalid", "invalid_api_key"], "", "provider_auth_failed"],
    [400, [INVALID], "Incorrect API key provided: sk-***", "provider_auth_failed"],
    [400, ["model_not_found"], "", "provider_model_missing"],
    [400, [INVALID], "Model Not Exist", "provider_model_missing"],
    [400, [INVALID], "The model `old` has been decommissioned and is no longer supported.", "provider_model_missing"],
    [400, [], "acme/none is not a valid model ID", "provider_model_missing"],
    [401, [], "no", "provider_auth_failed"],
    [402, [], "no", "provider_billing"],
    [404, ["not_found_error"], "model: old-1", "provider_model_missing"],
    [404, [], "<html>nothing here</html>", "provider_model_missing"],
    [429, [], "You exceeded your current quota, please check your plan.", "provider_billing"],
    [429, [], "slow down", "provider_rate_limited"],
    [200, ["overloaded_error"], "Overloaded", "provider_overloaded"],
  ] as const)("%i %j %s", (status, words, message, kind) => {
    expect(kindOf(status, words, message)).toBe(kind);
  });
});

describe("a refusal that another model may not share", () => {
  it.each([
    [400, ["context_length_exceeded"], "", "caller_context_length"],
    [400, [INVALID], "prompt is too long: 9 tokens > 8 maximum", "caller_context_length"],
    [413, ["request_too_large"], "Request exceeds the maximum size", "caller_invalid"],
    [400, ["content_policy_violation"], "", "policy_content"],
    [400, [INVALID], "This model does not support assistant message prefill.", "caller_unsupported"],
    [404, [INVALID], "No such File object: file-1", "caller_unsupported"],
  ] as const)("%i %j %s", (status, words, message, kind) => {
    expect(kindOf(status, words, message)).toBe(kind);
  });
});

// What a vendor's refusal is taken for. A caller's own words in it must not look like a fault of ours.
import { describe, expect, it } from "vitest";
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

// The vendor's wire after a request's limits: sampling parameters are dropped where the model thinks, and the caller learns what was
// dropped.
import { describe, expect, it } from "vitest";
import type { ChatWire } from "../../src/catalog/chat-wire.ts";
import { chatRequest } from "../../src/models/formats/chat-completions/request.ts";
import { messagesRequest } from "../../src/models/formats/messages/request.ts";
import { responsesRequest } from "../../src/models/formats/responses/request.ts";
import { unsentOf, wireFor } from "../../src/upstream/wire-for.ts";

const MESSAGES = [{ role: "user", content: "Hi" }];
const chat = (more: object) => chatRequest({ model: "m", messages: MESSAGES, temperature: 0.2, top_p: 0.9, ...more });
const responses = (more: object) => responsesRequest({ model: "m", input: "Hi", temperature: 0.2, ...more });
const messages = (more: object) => messagesRequest({ model: "m", messages: MESSAGES, temperature: 0.2, ...more });
const DROPPED = expect.arrayContaining(["temperature", "top_p", "presence_penalty", "frequency_penalty"]);

describe("sampling", () => {
  const unlessThinking: ChatWire = { sampling: "unless-thinking", dropFields: ["metadata", "temperature"] };
  const withoutThinking: ChatWire = { sampling: "without-thinking" };

  it.each([
    ["chat", chat({ reasoning_effort: "low" })],
    ["chat, as OpenRouter has it", chat({ reasoning: { max_tokens: 2_000 } })],
    ["chat, as Claude's clients have it", chat({ thinking: { type: "enabled", budget_tokens: 2_000 } })],
    ["responses", responses({ reasoning: { effort: "high" } })],
    ["messages", messages({ thinking: { type: "adaptive" } })],
  ])("is left out of what makes the model think: %s", (_, asked) => {
    const { dropFields = [] } = wireFor(asked, unlessThinking, "chat-completions");
    expect(dropFields).toEqual(DROPPED);
    expect(new Set(dropFields).size).toBe(dropFields.length);
    expect(wireFor(asked, withoutThinking, "chat-completions").dropFields).toEqual(DROPPED);
  });

  it.each([
    ["chat", chat({ reasoning_effort: "none" })],
    ["chat, as OpenRouter has it", chat({ reasoning: { enabled: false } })],
    ["responses", responses({ reasoning: { effort: "none" } })],
    ["messages", messages({ thinking: { type: "disabled" } })],
  ])("is taken of what tells it not to: %s", (_, asked) => {
    expect(wireFor(asked, unlessThinking, "chat-completions")).toBe(unlessThinking);
    expect(wireFor(asked, withoutThinking, "chat-completions")).toBe(withoutThinking);
  });

  it("of a request that does not speak of thinking is taken where the model then does not think", () => {
    expect(wireFor(chat({}), unlessThinking, "chat-completions")).toBe(unlessThinking);
    expect(wireFor(chat({}), withoutThinking, "chat-completions").dropFields).toEqual(DROPPED);
  });

  it("is none of a model's that thinks in the responses wire, whatever is said of it", () => {
    expect(wireFor(chat({ reasoning_effort: "low" }), {}, "responses").dropFields).toEqual(DROPPED);
    expect(wireFor(chat({ reasoning_effort: "low" }), {}, "chat-completions").dropFields).toBeUndefined();
  });
});

describe("what is not sent is named", () => {
  const mute: ChatWire = { takes: { efforts: [] }, dropFields: ["temperature"] };
  const able: ChatWire = { takes: { efforts: ["high"], noThinking: { thinking: { type: "disabled" } } } };

  it.each([
    ["chat", chat({ reasoning_effort: "none" }), ["temperature", "reasoning_effort"]],
    ["chat, as OpenRouter has it", chat({ reasoning: { enabled: false } }), ["temperature", "reasoning"]],
    ["chat, as Claude's clients have it", chat({ thinking: { type: "disabled" } }), ["temperature", "thinking"]],
    ["responses", responses({ reasoning: { effort: "none" } }), ["temperature", "reasoning"]],
    ["messages", messages({ thinking: { type: "disabled" } }), ["temperature", "thinking"]],
    ["messages", messages({ output_config: { effort: "low" } }), ["temperature", "output_config"]],
  ])("in %s", (_, asked, names) => {
    expect(unsentOf(asked, mute, "chat-completions")).toEqual(names);
    expect(unsentOf(asked, able, "chat-completions")).toEqual([]);
  });
});

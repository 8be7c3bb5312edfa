// The thinking effort sent to each vendor's newest models: models that always think get the minimum, never an instruction not to think.
import { describe, expect, it } from "vitest";
import { chatCompletions } from "../../src/models/formats/chat-completions/vendor.ts";
import { generateContent } from "../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../src/models/formats/messages/vendor.ts";
import type { Dialect } from "../../src/upstream/format-kit/dialect.ts";
import { asked, chatContext } from "../support/dialect-replay.ts";
import { manualClock } from "../support/manual-clock.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const DIALECTS: Readonly<Record<string, Dialect>> = {
  "chat-completions": chatCompletions,
  "generate-content": generateContent,
  messages,
};

/** On a day on which all of them are sold. */
const catalog = await shippedCatalog({ clock: manualClock(Date.parse("2026-11-23T12:00:00Z")) });

/** The context of a call to a model at an adapter, and its dialect. */
function contextOf(adapterId: string, slug: string) {
  const offer = catalog.model(slug, { sandbox: true })?.offers.find(({ adapter }) => adapter.id === adapterId);
  const dialect = DIALECTS[offer?.chat.dialect ?? ""];
  if (offer === undefined || dialect === undefined) throw new Error(`${adapterId} does not sell ${slug}`);
  return { dialect, context: chatContext({ spec: offer.chat, wire: offer.wire }) };
}

/** The request fields for an effort level. */
function sentFor(adapterId: string, slug: string, more: Readonly<Record<string, unknown>>) {
  const { dialect, context } = contextOf(adapterId, slug);
  const body = { messages: [{ role: "user", content: "Hello" }], ...more };
  return dialect.request(asked(body), context).body as Record<string, unknown>;
}

describe("no thinking", () => {
  it.each([
    ["openai", "openai/gpt-6-astra", "low"],
    ["openai", "openai/gpt-6.1-sol", "low"],
    ["openai", "openai/gpt-6.1-terra", "none"],
    ["openai", "openai/gpt-6-luna", "none"],
    ["openai", "openai/gpt-5-mini", "minimal"],
    ["xai", "x-ai/grok-4.7", "low"],
    ["xai", "x-ai/grok-4.5", "low"],
    ["xai", "x-ai/grok-4.3", "none"],
    ["mistral", "mistralai/mistral-large-4", "low"],
    ["mistral", "mistralai/mistral-medium-3.5", "none"],
    ["mistral", "mistralai/mistral-small-2603", "none"],
    ["moonshot", "moonshotai/kimi-k3.1-pro", "low"],
    ["groq", "qwen/qwen3.8-27b", "none"],
    ["groq", "openai/gpt-oss-120b", "low"],
  ])("at %s of %s is %s", (adapterId, slug, word) => {
    expect(sentFor(adapterId, slug, { reasoning_effort: "none" }).reasoning_effort).toBe(word);
  });

  it.each([
    ["anthropic", "anthropic/claude-opus-5.5"],
    ["anthropic", "anthropic/claude-sonnet-5.5"],
    ["vertex-anthropic", "anthropic/claude-opus-5.5"],
    ["bedrock-anthropic", "anthropic/claude-sonnet-5.5"],
  ])("at %s of %s is the least effort, in thoughts that come anyway", (adapterId, slug) => {
    const sent = sentFor(adapterId, slug, { reasoning_effort: "none" });
    expect([sent.thinking, sent.output_config]).toEqual([undefined, { effort: "low" }]);
  });

  it("of DeepSeek is said in its own word, and little thinking stays little", () => {
    const sent = (more: object) => sentFor("deepseek", "deepseek/deepseek-v4-pro", more as never);
    expect(sent({ reasoning_effort: "none" }).thinking).toEqual({ type: "disabled" });
    expect(sent({ reasoning: { enabled: false } }).thinking).toEqual({ type: "disabled" });
    expect(sent({ reasoning_effort: "low" })).toMatchObject({ reasoning_effort: "low" });
  });

  it("of a model that can do without is said as it is", () => {
    expect(sentFor("anthropic", "anthropic/claude-haiku-5.5", { reasoning_effort: "none" }).thinking).toEqual({
      type: "disabled",
    });
  });

  it("in Claude's own words is left out where the model refuses it", () => {
    const own = { max_tokens: 100, messages: [{ role: "user", content: "Hello" }], thinking: { type: "disabled" } };
    const passed = (slug: string) => {
      const { dialect, context } = contextOf("anthropic", slug);
      const sent = dialect.passing?.request(own, context).body as Record<string, unknown> | undefined;
      return sent === undefined ? "nothing is passed" : sent.thinking;
    };
    expect(passed("anthropic/claude-opus-5.5")).toBeUndefined();
    expect(passed("anthropic/claude-opus-5")).toEqual({ type: "disabled" });
  });

  it.each([
    ["google/gemini-4-argon", "LOW"],
    ["google/gemini-3.8-flash", "LOW"],
    ["google/gemini-3.7-flash", "LOW"],
    ["google/gemini-3.6-flash", "MINIMAL"],
  ])("of %s is %s", (slug, thinkingLevel) => {
    const { generationConfig } = sentFor("gemini", slug, { reasoning_effort: "none" });
    expect(generationConfig).toMatchObject({ thinkingConfig: { thinkingLevel } });
    expect(sentFor("gemini", slug, { reasoning_effort: "minimal" }).generationConfig).toMatchObject({
      thinkingConfig: { thinkingLevel },
    });
  });
});

it.each([
  ["openai", "openai/gpt-6-sol", "max", "max"],
  ["openai", "openai/gpt-5.6-sol", "max", "max"],
  ["openai", "openai/gpt-5.5", "max", "xhigh"],
  ["xai", "x-ai/grok-4.6", "xhigh", "xhigh"],
  ["moonshot", "moonshotai/kimi-k3", "xhigh", "max"],
  ["moonshot", "moonshotai/kimi-k3", "medium", "high"],
])("%s: %s is told of %s as %s", (adapterId, slug, word, told) => {
  expect(sentFor(adapterId, slug, { reasoning_effort: word }).reasoning_effort).toBe(told);
});

it.each([
  ["openai", "openai/gpt-5-mini"],
  ["openai", "openai/gpt-6-luna"],
  ["xai", "x-ai/grok-4.3"],
])("%s: %s is not told where to stop, which it refuses", (adapterId, slug) => {
  expect(sentFor(adapterId, slug, { stop: ["x"] }).stop).toBeUndefined();
});

// Searches of the web by models whose vendor has none, as real clients ask for them: what they show are the sources, unchanged but for the base URL.
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, streamText } from "ai";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MODEL, type Stage, startStage } from "../acting/stage.ts";
import type { TestAccount } from "../support/gateway.ts";

let stage: Stage;
let account: TestAccount;

beforeAll(async () => {
  stage = await startStage();
  account = await stage.account();
});
afterAll(async () => {
  expect(await stage.gateway.doctor()).toEqual([]);
  await stage.stop();
});

const URL_FOUND = "https://example.com/tides";
const ANSWER = `At noon, says [Tides](${URL_FOUND}).`;
const asks = () =>
  stage.says({ text: "I look.", calls: [{ id: "c1", name: "web_search", args: { query: "tide" } }] }, { text: ANSWER });

it("Anthropic's SDK", async () => {
  asks();
  const client = new Anthropic({ apiKey: account.key, baseURL: `${stage.gateway.url}/api/llm`, maxRetries: 0 });
  const asked = {
    model: MODEL,
    max_tokens: 500,
    messages: [{ role: "user" as const, content: "When?" }],
    tools: [{ type: "web_search_20250305" as const, name: "web_search" as const }],
  };
  const streamed = await client.messages.stream(asked).finalMessage();
  asks();
  const whole = await client.messages.create(asked);
  for (const { content } of [streamed, whole]) {
    const last = content.at(-1);
    expect(last?.type === "text" ? last.citations : null).toMatchObject([{ url: URL_FOUND, title: "Tides" }]);
    expect(content.find(({ type }) => type === "web_search_tool_result")).toMatchObject({
      content: [{ url: URL_FOUND }],
    });
  }
});

it("the AI SDK in the messages wire", async () => {
  const anthropic = createAnthropic({ apiKey: account.key, baseURL: `${stage.gateway.url}/api/llm/v1` });
  const asked = {
    model: anthropic(MODEL),
    prompt: "When?",
    tools: { web_search: anthropic.tools.webSearch_20250305({ maxUses: 2 }) },
    maxRetries: 0,
  };
  asks();
  const whole = await generateText(asked);
  expect(whole.text).toContain(ANSWER);
  expect(whole.sources).toMatchObject([{ sourceType: "url", url: URL_FOUND, title: "Tides" }]);
  asks();
  const streamed = streamText(asked);
  expect(await streamed.text).toContain(ANSWER);
  expect((await streamed.sources).map((source) => ("url" in source ? source.url : ""))).toContain(URL_FOUND);
});

// The AI SDK's provider for OpenAI-compatible servers, over every dialect: text, streams with usage, tools, objects, embeddings and errors.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, embed, generateText, isStepCount, Output, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const MODELS = ["sandbox/ok", "sandbox-responses/ok", "sandbox-gemini/ok", "sandbox-messages/ok"];
const CITY = z.object({ city: z.string() });

let gateway: TestGateway;
let account: TestAccount;

const clientOf = (apiKey = account.key) =>
  createOpenAICompatible({
    name: "tollgate",
    baseURL: `${gateway.url}/api/llm/v1`,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
});
afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

describe.each(MODELS)("%s", (id) => {
  it("answers whole and streamed, with usage both times", async () => {
    const model = clientOf()(id);
    const whole = await generateText({ model, prompt: "[[say: hello there]]" });
    expect([whole.text, whole.finishReason]).toEqual(["hello there", "stop"]);
    const streamed = streamText({ model, prompt: "[[say: hello there]]" });
    let text = "";
    for await (const piece of streamed.textStream) text += piece;
    expect([text, await streamed.finishReason]).toEqual(["hello there", "stop"]);
    for (const { inputTokens, outputTokens } of [whole.usage, await streamed.usage]) {
      expect(inputTokens).toBeGreaterThan(0);
      expect(outputTokens).toBeGreaterThan(0);
    }
  });

  it("has a tool called and goes on, whole and streamed", async () => {
    const asked: string[] = [];
    const weather = tool({
      description: "The weather of a city",
      inputSchema: CITY,
      execute: async ({ city }) => {
        asked.push(city);
        return "Sunny";
      },
    });
    const options = { model: clientOf()(id), tools: { weather }, stopWhen: isStepCount(4) };
    const prompt = '[[call: weather {"city": "Rome"}]]';
    const whole = await generateText({ ...options, prompt });
    const streamed = streamText({ ...options, prompt });
    for (const text of [whole.text, await streamed.text]) expect(text).toMatch(/\w/);
    expect(asked).toEqual(["Rome", "Rome"]);
    expect((await streamed.steps).map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
  });

  it("answers with an object of a schema", async () => {
    const output = Output.object({ schema: CITY });
    const { output: made } = await generateText({ model: clientOf()(id), output, prompt: "Which city?" });
    expect(typeof made.city).toBe("string");
  });
});

it("embeds", async () => {
  const { embedding, usage } = await embed({
    model: clientOf().embeddingModel("openai/text-embedding-3-small"),
    value: "tides",
  });
  expect(embedding.length).toBeGreaterThan(100);
  expect(usage.tokens).toBeGreaterThan(0);
});

describe("an error", () => {
  const failed = async (model: string, key?: string) =>
    generateText({ model: clientOf(key)(model), prompt: "Hi", maxRetries: 0 }).then(
      () => null,
      (error: unknown) => error,
    );

  it.each([
    ["an unknown model", "nobody/nothing", undefined, 404, /nobody\/nothing/],
    ["a key that is none", "core/cheap", "tg_sk_none", 401, /key/],
    ["a vendor that is down", "sandbox/503", undefined, 502, /No provider could answer/],
  ])("for %s has the gateway's status and words", async (_, model, key, status, words) => {
    const error = await failed(model, key);
    expect(error).toBeInstanceOf(APICallError);
    const { statusCode, message, responseHeaders } = error as APICallError;
    expect(statusCode).toBe(status);
    expect(message).toMatch(words);
    // The client decides by the status alone: with `maxRetries`, it retries even if the gateway says that it need not.
    expect(responseHeaders?.["x-should-retry"]).toBe("false");
  });

  it("in the middle of a stream is told, and is no good end", async () => {
    const errors: unknown[] = [];
    const streamed = streamText({
      model: clientOf()("sandbox/cut-after-3"),
      prompt: "Hi",
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    for await (const _ of streamed.textStream);
    expect(errors).toHaveLength(1);
    expect(await streamed.finishReason.then(String, () => "error")).toBe("error");
  });
});

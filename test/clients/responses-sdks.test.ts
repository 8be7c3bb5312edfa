// The SDKs that use the responses wire by default: text, a tool and its result, and a stream, over a vendor with that wire and another. Two
// major versions of each if both can be installed side by side.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAI as createOpenAI3 } from "@ai-sdk/openai-3";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, tool as agentTool, OpenAIProvider, Runner } from "@openai/agents";
import * as agents19 from "@openai/agents-19";
import { generateText, isStepCount, type ModelMessage, streamText, tool } from "ai";
import * as ai6 from "ai-6";
import OpenAI6 from "openai-6";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let account: TestAccount;
let baseURL: string;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
  baseURL = `${gateway.url}/api/llm/v1`;
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

const CITY = z.object({ city: z.string() });

/** Expects every call since the last check to be a successful one in the responses wire. */
function expectResponses(countMin: number, from: number): void {
  const calls = gateway.records().slice(from);
  expect(calls.map(({ status, endpoint }) => [status, endpoint])).toEqual(
    calls.map(() => [200, "/api/llm/v1/responses"]),
  );
  expect(calls.length).toBeGreaterThanOrEqual(countMin);
}

interface UserSaid {
  readonly role: "user";
  readonly content: string;
}

/** A conversation in which every turn sends the previous ones back, including one with a tool call. */
async function threeTurns<Message>(
  talk: (messages: (Message | UserSaid)[]) => Promise<{ text: string; messages: readonly Message[] }>,
): Promise<void> {
  const said = (content: string): UserSaid => ({ role: "user", content });
  const first = await talk([said("[[say: hello]]")]);
  const second = await talk([said("Hi"), ...first.messages, said('[[call: weather {"city": "Rome"}]]')]);
  const history = [said("Hi"), ...first.messages, said("And the weather?"), ...second.messages];
  const third = await talk([...history, said("[[say: fine]]")]);
  expect([first.text, third.text]).toEqual(["hello", "fine"]);
}

describe.each(["sandbox-responses/ok", "sandbox-messages/ok", "sandbox/ok"])("%s", (model) => {
  test("the Agents SDK runs an agent with a tool, whole and streamed", async () => {
    const from = gateway.records().length;
    const modelProvider = new OpenAIProvider({ apiKey: account.key, baseURL });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const asked: string[] = [];
    const weather = agentTool({
      name: "weather",
      description: "The weather of a city",
      parameters: CITY,
      execute: async ({ city }) => {
        asked.push(city);
        return "Sunny";
      },
    });
    const agent = new Agent({ name: "Guide", instructions: "Be kind", model, tools: [weather] });
    const whole = await runner.run(agent, "How is the weather?");
    expect(String(whole.finalOutput)).toMatch(/\w/);
    const streamed = await runner.run(agent, "How is the weather there?", { stream: true });
    let text = "";
    for await (const piece of streamed.toTextStream()) text += piece;
    await streamed.completed;
    expect(text).toBe(streamed.finalOutput);
    expect(asked).toHaveLength(2);
    expectResponses(4, from);
  });

  test("the AI SDK calls a tool and goes on, whole and streamed", async () => {
    const from = gateway.records().length;
    const openai = createOpenAI({ apiKey: account.key, baseURL });
    const asked: string[] = [];
    const weather = tool({
      description: "The weather of a city",
      inputSchema: CITY,
      execute: async ({ city }) => {
        asked.push(city);
        return "Sunny";
      },
    });
    const options = { model: openai(model), tools: { weather }, stopWhen: isStepCount(4) };
    const whole = await generateText({ ...options, prompt: "How is the weather?" });
    expect(whole.text).toMatch(/\w/);
    expect(whole.finishReason).toBe("stop");
    expect(whole.totalUsage.totalTokens).toBeGreaterThan(0);
    const streamed = streamText({ ...options, prompt: "How is the weather there?" });
    let text = "";
    for await (const piece of streamed.textStream) text += piece;
    expect(text).toMatch(/\w/);
    expect(asked).toHaveLength(2);
    expectResponses(4, from);
  });

  // Later turns send back what earlier ones returned: by reference, unless nothing is stored.
  test.each([
    ["by reference, as it does unless told otherwise", {}],
    ["whole", { store: false }],
  ])("the AI SDK goes on for turns that it sends %s, in both majors", async (_, openaiOptions) => {
    const from = gateway.records().length;
    const providerOptions = { openai: openaiOptions };
    const now = createOpenAI({ apiKey: account.key, baseURL });
    const before = createOpenAI3({ apiKey: account.key, baseURL });
    const weather = tool({ description: "The weather of a city", inputSchema: CITY, execute: async () => "Sunny" });
    const weather6 = ai6.tool({
      description: "The weather of a city",
      inputSchema: CITY,
      execute: async () => "Sunny",
    });
    await threeTurns<ModelMessage>(async (messages) => {
      const asked = { model: now(model), tools: { weather }, stopWhen: isStepCount(4), providerOptions, messages };
      const run = streamText(asked);
      return { text: await run.text, messages: (await run.response).messages };
    });
    await threeTurns<ai6.ModelMessage>(async (messages) => {
      const asked = { model: before(model), tools: { weather: weather6 }, stopWhen: ai6.stepCountIs(4) };
      const run = await ai6.generateText({ ...asked, providerOptions, messages });
      return { text: run.text, messages: run.response.messages };
    });
    expectResponses(6, from);
  });

  test("the Agents SDK of the version before runs an agent with a tool", async () => {
    const from = gateway.records().length;
    const modelProvider = new agents19.OpenAIProvider({ apiKey: account.key, baseURL });
    const runner = new agents19.Runner({ modelProvider, tracingDisabled: true });
    const weather = agents19.tool({
      name: "weather",
      description: "The weather of a city",
      parameters: CITY,
      execute: async () => "Sunny",
    });
    const agent = new agents19.Agent({ name: "Guide", instructions: "Be kind", model, tools: [weather] });
    const { finalOutput } = await runner.run(agent, "How is the weather?");
    expect(String(finalOutput)).toMatch(/\w/);
    expectResponses(2, from);
  });

  test("OpenAI's SDK of the major before asks in both wires", async () => {
    const client = new OpenAI6({ apiKey: account.key, baseURL, maxRetries: 0 });
    const content = "[[say: one two]]";
    const chat = await client.chat.completions.create({ model, messages: [{ role: "user", content }] });
    expect(chat.choices[0]?.message.content).toBe("one two");
    const stream = client.responses.stream({ model, input: content });
    expect((await stream.finalResponse()).output_text).toBe("one two");
  });

  test("LangChain asks, streams and calls a tool", async () => {
    const from = gateway.records().length;
    const chat = new ChatOpenAI({ model, apiKey: account.key, configuration: { baseURL }, useResponsesApi: true });
    const whole = await chat.invoke("[[say: hello there]]");
    expect(whole.text).toBe("hello there");
    let text = "";
    for await (const chunk of await chat.stream("[[say: hello there]]")) text += chunk.text;
    expect(text).toBe("hello there");
    const parameters = { type: "object", properties: {} };
    const weather = { type: "function", function: { name: "weather", parameters } } as const;
    const called = await chat.bindTools([weather]).invoke("How is the weather?");
    expect(called.tool_calls?.map(({ name }) => name)).toEqual(["weather"]);
    expectResponses(3, from);
  });
});

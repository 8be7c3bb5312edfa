// The SDKs that speak the responses wire unless told otherwise: text, a tool and its result, and a stream, over a vendor of that wire and another.
import { createOpenAI } from "@ai-sdk/openai";
import { ChatOpenAI } from "@langchain/openai";
import { Agent, tool as agentTool, OpenAIProvider, Runner } from "@openai/agents";
import { generateText, isStepCount, streamText, tool } from "ai";
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

/** Every call since the last look was one of the responses wire, and a good one. */
function expectResponses(countMin: number, from: number): void {
  const calls = gateway.records().slice(from);
  expect(calls.map(({ status, endpoint }) => [status, endpoint])).toEqual(
    calls.map(() => [200, "/api/llm/v1/responses"]),
  );
  expect(calls.length).toBeGreaterThanOrEqual(countMin);
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
    // A second turn brings back what the first one said: by reference, which nobody keeps, unless it is told that nothing is stored.
    const openaiOptions = { providerOptions: { openai: { store: false } } };
    const first = await generateText({ ...options, ...openaiOptions, prompt: "[[say: hello]]" });
    const messages = [{ role: "user" as const, content: "[[say: hello]]" }, ...first.response.messages];
    const more = [...messages, { role: "user" as const, content: "[[say: fine]]" }];
    const again = await generateText({ ...options, ...openaiOptions, messages: more });
    expect(again.text).toBe("fine");
    expectResponses(6, from);
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

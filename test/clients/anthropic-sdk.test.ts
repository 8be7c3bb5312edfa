// Anthropic's SDK in its typical uses, over every dialect: messages, streams, tools, counts and models; and the AI SDK in the same wire.
// Two major versions of each: the older one parses more strictly, or sends different requests.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createAnthropic as createAnthropic3 } from "@ai-sdk/anthropic-3";
import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import Anthropic0 from "@anthropic-ai/sdk-0";
import { generateText, stepCountIs, streamText, tool } from "ai";
import * as ai6 from "ai-6";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const MODELS = ["sandbox/ok", "sandbox-responses/ok", "sandbox-gemini/ok", "sandbox-messages/ok"];

let gateway: TestGateway;
let account: TestAccount;
let client: Anthropic;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
  client = new Anthropic({ apiKey: account.key, baseURL: `${gateway.url}/api/llm`, maxRetries: 0 });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

const CITY = z.object({ city: z.string() });

const WEATHER: Anthropic.Tool = {
  name: "weather",
  description: "The weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

describe.each(MODELS)("%s", (model) => {
  it("creates a message", async () => {
    const message = await client.messages.create({
      model,
      max_tokens: 200,
      messages: [{ role: "user", content: "[[say: hello there]]" }],
    });
    expect(message.content).toMatchObject([{ type: "text", text: "hello there" }]);
    expect([message.model, message.stop_reason, message.usage.output_tokens]).toEqual([model, "end_turn", 2]);
    expect(message._request_id).toMatch(/^req_/);
  });

  it("streams, event by event and by the helper", async () => {
    const asked = { model, max_tokens: 200, messages: [{ role: "user" as const, content: "[[say: one two three]]" }] };
    let text = "";
    for await (const event of await client.messages.create({ ...asked, stream: true })) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    }
    expect(text).toBe("one two three");
    const seen: string[] = [];
    const stream = client.messages.stream(asked).on("text", (delta) => seen.push(delta));
    // The assembled message has the counts that the SDK knows; the cost is in the event that reports them.
    stream.on("streamEvent", (event) => event.type === "message_delta" && expect(event.usage).toHaveProperty("cost"));
    const message = await stream.finalMessage();
    expect(seen.join("")).toBe("one two three");
    expect(message.usage.output_tokens).toBe(3);
  });

  it("thinks, calls a tool, and takes both back with the result", async () => {
    const asked = {
      model,
      max_tokens: 4_000,
      tools: [WEATHER],
      thinking: { type: "enabled" as const, budget_tokens: 1_024 },
    };
    const said: Anthropic.MessageParam = { role: "user", content: '[[call: weather {"city": "Rome"}]]' };
    const called = await client.messages.stream({ ...asked, messages: [said] }).finalMessage();
    expect(called.stop_reason).toBe("tool_use");
    const call = called.content.find((block) => block.type === "tool_use");
    expect(call).toMatchObject({ name: "weather", input: { city: "Rome" } });
    for (const block of called.content) if (block.type === "thinking") expect(block.signature).not.toBe("");
    const result = { type: "tool_result" as const, tool_use_id: call?.id ?? "", content: "sunny" };
    const messages: Anthropic.MessageParam[] = [
      said,
      { role: "assistant", content: called.content },
      { role: "user", content: [result] },
    ];
    const answered = await client.messages.create({ ...asked, messages });
    expect(answered.stop_reason).toBe("end_turn");
  });

  it("is counted and listed", async () => {
    const { input_tokens } = await client.messages.countTokens({
      model,
      messages: [{ role: "user", content: "Hello" }],
    });
    expect(input_tokens).toBeGreaterThan(1);
  });

  it("answers the SDK's major before, whole and streamed", async () => {
    const before = new Anthropic0({ apiKey: account.key, baseURL: `${gateway.url}/api/llm`, maxRetries: 0 });
    const asked = { model, max_tokens: 200, messages: [{ role: "user" as const, content: "[[say: one two]]" }] };
    const whole = await before.messages.create(asked);
    expect(whole.content).toMatchObject([{ type: "text", text: "one two" }]);
    const streamed = await before.messages.stream(asked).finalMessage();
    expect(streamed.content).toMatchObject([{ type: "text", text: "one two" }]);
  });

  it("goes on without a thread where the SDK's runner of tools asks for one", async () => {
    const weather = betaTool({
      name: "weather",
      description: "The weather of a city",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      run: () => "sunny",
    });
    const before = gateway.records().length;
    const message = await client.beta.messages.toolRunner({
      model,
      max_tokens: 1_000,
      tools: [weather],
      messages: [{ role: "user", content: '[[call: weather {"city": "Rome"}]]' }],
    });
    expect(message.stop_reason).toBe("end_turn");
    const statuses = gateway
      .records()
      .slice(before)
      .map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(2);
    expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(1);
  });

  it("answers the AI SDK, with a tool between", async () => {
    const anthropic = createAnthropic({ apiKey: account.key, baseURL: `${gateway.url}/api/llm/v1` });
    const { text } = await generateText({ model: anthropic(model), prompt: "[[say: hello]]" });
    expect(text).toBe("hello");
    const weather = tool({ description: "Weather", inputSchema: CITY, execute: async () => "sunny" });
    const run = streamText({
      model: anthropic(model),
      prompt: '[[call: weather {"city": "Rome"}]]',
      tools: { weather },
      stopWhen: stepCountIs(3),
    });
    expect((await run.text).length).toBeGreaterThan(0);
    expect(await run.finishReason).toBe("stop");
    expect((await run.steps).length).toBe(2);
  });

  it("answers the AI SDK's major before, with a tool between", async () => {
    const anthropic = createAnthropic3({ apiKey: account.key, baseURL: `${gateway.url}/api/llm/v1` });
    const { text } = await ai6.generateText({ model: anthropic(model), prompt: "[[say: hello]]" });
    expect(text).toBe("hello");
    const weather = ai6.tool({ description: "Weather", inputSchema: CITY, execute: async () => "sunny" });
    const asked = { model: anthropic(model), prompt: '[[call: weather {"city": "Rome"}]]', tools: { weather } };
    const whole = await ai6.generateText({ ...asked, stopWhen: ai6.stepCountIs(3) });
    expect([whole.finishReason, whole.steps.length]).toEqual(["stop", 2]);
    const run = ai6.streamText({ ...asked, stopWhen: ai6.stepCountIs(3) });
    expect((await run.text).length).toBeGreaterThan(0);
    expect(await run.finishReason).toBe("stop");
  });
});

it("lists models, each of which it can read", async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  expect(ids).toContain("core/best");
  const paged: string[] = [];
  for await (const model of client.models.list({ limit: 5 })) paged.push(model.id);
  expect(paged).toEqual(ids);
  const one = await client.models.retrieve("core/best");
  expect(one).toMatchObject({ type: "model", id: "core/best" });
});

it("throws errors of its own classes, with our code", async () => {
  const asked = { model: "sandbox/nothing-of-this-name", max_tokens: 10, messages: [] };
  const error = await client.messages.create(asked).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Anthropic.BadRequestError);
  const wrong = new Anthropic({ apiKey: "tg_sk_wrong", baseURL: `${gateway.url}/api/llm`, maxRetries: 0 });
  const refused = await wrong.messages.create(asked).catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(Anthropic.AuthenticationError);
  const broken = client.messages.stream({
    model: "sandbox-messages/cut-after-3",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  });
  await expect(broken.finalMessage()).rejects.toBeInstanceOf(APIError);
});

describe("batches", () => {
  it("are created, followed, read, listed and deleted", async () => {
    const { batches } = client.messages;
    const params = {
      model: "sandbox-messages/ok",
      max_tokens: 20,
      messages: [{ role: "user" as const, content: "Hi" }],
    };
    const made = await batches.create({ requests: ["a", "b"].map((id) => ({ custom_id: id, params })) });
    const ended = await eventually(async () => {
      const now = await batches.retrieve(made.id);
      return now.processing_status === "ended" ? now : undefined;
    }, "the end of the batch");
    expect(ended.request_counts.succeeded).toBe(2);
    const types: string[] = [];
    for await (const { custom_id: id, result } of await batches.results(made.id)) types.push(`${id} ${result.type}`);
    expect(types.toSorted()).toEqual(["a succeeded", "b succeeded"]);
    expect((await batches.list({ limit: 1 })).data[0]?.id).toBe(made.id);
    expect(await batches.delete(made.id)).toMatchObject({ type: "message_batch_deleted" });
  });
});

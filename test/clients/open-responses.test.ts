// The checks of the Open Responses compliance suite, as our own cases: ten over HTTP, seven over a WebSocket; and OpenAI's own client over
// a WebSocket. Everything received is validated against the specification's schema.
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { type Asking, callResponses, flaws, type Json, outputOf, typesOf } from "../support/responses-call.ts";
import { openResponses } from "../support/responses-socket.ts";

let gateway: TestGateway;
let account: TestAccount;
let asking: Asking;

beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 100_000 });
  asking = { url: gateway.url, key: account.key };
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  expect(findings).toEqual([]);
});

const user = (content: unknown) => ({ type: "message", role: "user", content });
const assistant = (content: unknown, more = {}) => ({ type: "message", role: "assistant", content, ...more });
const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "The weather at a place",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
};
const PIXEL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.each(["sandbox-responses/ok", "sandbox-messages/ok", "sandbox/ok"])("%s over HTTP", (model) => {
  test.each([
    ["a text", [user("Say hello in three words.")]],
    [
      "what the assistant said in phases",
      [
        assistant("I should answer with the saved number.", { phase: "commentary" }),
        assistant("The number is four.", { phase: "final_answer" }),
        user("Repeat only the number."),
      ],
    ],
    ["a system prompt", [{ type: "message", role: "system", content: "You are a pirate." }, user("Say hello.")]],
    [
      "a picture",
      [
        user([
          { type: "input_text", text: "What is this?" },
          { type: "input_image", image_url: PIXEL },
        ]),
      ],
    ],
    ["several turns", [user("My name is Ann."), assistant("Hello, Ann."), user("What is my name?")]],
  ])("answers %s", async (_, input) => {
    const { response, error } = await callResponses(asking, { model, input });
    expect(error).toBeNull();
    expect(response.status).toBe("completed");
    expect((response.output as Json[]).length).toBeGreaterThan(0);
  });

  test("streams", async () => {
    const { events, done, response } = await callResponses(asking, { model, stream: true, input: [user("Count.")] });
    expect(typesOf(events)).toContain("output_text.delta");
    expect([done, response.status]).toEqual([true, "completed"]);
  });

  test("calls a tool", async () => {
    const seen = await callResponses(asking, { model, tools: [WEATHER], input: [user("How is the weather in Rome?")] });
    expect(outputOf(seen).map(({ type }) => type)).toContain("function_call");
  });

  test("makes a conversation short, and says what is missing where no model is named", async () => {
    const input = [user("We launch on Tuesday."), assistant("Understood.")];
    const { response } = await callResponses(asking, { model, input, prompt_cache_key: "k" }, "/compact");
    expect(flaws("CompactResource", response)).toEqual([]);
    expect((response.output as Json[]).map(({ type }) => type)).toContain("compaction");
    const without = await callResponses(asking, { input }, "/compact");
    expect([without.status, without.error?.param]).toEqual([400, "model"]);
  });

  test("goes on from what was made short on a socket", async () => {
    const { response } = await callResponses(asking, { model, input: [user("The word is slate.")] }, "/compact");
    const socket = await openResponses(asking);
    const input = [...(response.output as Json[]), user("[[say: compacted]]")];
    const said = await socket.ask({ model, store: false, input, tools: [] });
    expect(said.response.status).toBe("completed");
  });
});

describe.each(["sandbox-responses/ok", "sandbox-messages/ok", "sandbox/ok"])("%s over a WebSocket", (model) => {
  test("answers, and answers again", async () => {
    const socket = await openResponses(asking);
    for (const word of ["first", "second"]) {
      const said = await socket.ask({ model, store: false, input: `Reply with exactly: ${word}` });
      expect(said.last.type).toBe("response.completed");
      for (const event of said.events) expect(event.sequence_number).toEqual(expect.any(Number));
    }
  });

  test("goes on; not on another socket, nor from an id that never was, nor after it failed; and then starts anew", async () => {
    const socket = await openResponses(asking);
    const first = await socket.ask({ model, store: false, input: "Remember cobalt." });
    const second = await socket.ask({ model, store: false, previous_response_id: first.response.id, input: "Which?" });
    expect(second.response.previous_response_id).toBe(first.response.id);
    const on = { model, store: false, previous_response_id: second.response.id };
    const other = await openResponses(asking);
    const codes = [await other.ask({ ...on, input: "Which?" })];
    codes.push(await other.ask({ ...on, previous_response_id: "resp_missing", input: "Which?" }));
    const output = { type: "function_call_output", call_id: "call_missing", output: "of no call" };
    expect((await socket.ask({ ...on, input: [output] })).last.type).toBe("error");
    codes.push(await socket.ask({ ...on, input: "Which?" }));
    expect(codes.map(({ error }) => error?.code)).toEqual(codes.map(() => "previous_response_not_found"));
    const told = { code: expect.any(String), message: expect.any(String), param: "previous_response_id" };
    for (const { last } of codes) expect(last).toMatchObject({ type: "error", status: 400, error: told });
    expect((await other.ask({ model, store: false, input: "Hello" })).response.status).toBe("completed");
  });

  test("answers OpenAI's own client", async () => {
    const client = new OpenAI({ apiKey: account.key, baseURL: `${gateway.url}/v1` });
    const socket = new ResponsesWS(client);
    onTestFinished(() => socket.close());
    const done = new Promise<string>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("response.completed", ({ response }) =>
        resolve(response.output_text ?? JSON.stringify(response.output)),
      );
    });
    socket.send({ type: "response.create", model, input: "[[say: from the client]]" });
    expect(await done).toContain("from the client");
  });
});

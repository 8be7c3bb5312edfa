// The plain form of the responses wire: the form of its requests, and what its vendors report of cost and cache.
import { expect, it } from "vitest";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import { answerOf, asked, chatContext } from "../../support/dialect-replay.ts";

const context = chatContext({
  spec: { dialect: "responses", models: {}, costUsdAt: "/cost/total_cost" },
  wire: { reasoning: "none", takes: { responsesForm: "plain", refuses: ["tools", "n"] } },
});
const TALK = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "Hel" },
      { type: "text", text: "lo" },
    ],
  },
  { role: "assistant", content: "Hi." },
  { role: "user", content: "Bye" },
];
const sent = (more: Record<string, unknown> = {}) =>
  responses.request(asked({ messages: TALK, ...more }), context).body as Record<string, unknown>;

it("has typed messages of one text each, and asks for no thoughts", () => {
  const body = sent();
  expect(body.input).toEqual([
    { type: "message", role: "system", content: "Be brief." },
    { type: "message", role: "user", content: "Hello" },
    { type: "message", role: "assistant", content: "Hi." },
    { type: "message", role: "user", content: "Bye" },
  ]);
  expect([body.include, body.reasoning]).toEqual([undefined, undefined]);
});

it("has the format where the chat wire has it, and any object in words", () => {
  const schema = { type: "object", properties: {} };
  const typed = sent({ response_format: { type: "json_schema", json_schema: { name: "a", schema } } });
  expect(typed.response_format).toEqual({ type: "json_schema", json_schema: { name: "a", schema } });
  const any = sent({ response_format: { type: "json_object" } });
  expect([any.response_format, any.instructions]).toEqual([undefined, expect.stringContaining("one JSON object")]);
  expect([typed.text, any.text]).toEqual([undefined, undefined]);
});

it("refuses tools where its vendor calls none but its own", () => {
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
  expect(responses.unsupported(asked({ messages: TALK, tools }), context)).toBe("tools are none of its own");
  expect(responses.unsupported(asked({ messages: TALK }), context)).toBeNull();
});

it("tells what was cached and what it cost by names of its own", () => {
  const answer = answerOf(
    responses,
    {
      status: "completed",
      output: [
        { type: "search_results", results: [] },
        { type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] },
      ],
      usage: {
        input_tokens: 100,
        input_tokens_details: { cache_read_input_tokens: 40, cache_creation_input_tokens: 10 },
        output_tokens: 5,
        cost: { total_cost: 0.0031, currency: "USD" },
      },
    },
    context,
  );
  expect(answer).toMatchObject({
    text: "Hi",
    usage: { inputTokens: 50, cacheReadTokens: 40, cacheWriteTokens: 10, outputTokens: 5 },
    upstreamCostNano: 3_100_000,
  });
});

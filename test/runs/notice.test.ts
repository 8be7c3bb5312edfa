// Where the sentence about a run's budget goes in each format.
import { expect, test } from "vitest";
import { nano } from "../../src/core/money.ts";
import type { Call } from "../../src/edge/serve/call.ts";
import { tellModel } from "../../src/edge/serve/join-run.ts";
import type { OpenRun } from "../../src/money/runs/open-run.ts";

const RUN = { leftNano: nano(1_200_000_000), budgetNano: nano(5_000_000_000) } as OpenRun;
const SENTENCE = "About $1.20 of this run's $5.00 is left.";

function told(body: Record<string, unknown>): Record<string, unknown> {
  const request = { body: Buffer.from(JSON.stringify(body)) };
  tellModel({ request } as Call, RUN);
  return JSON.parse(request.body.toString()) as Record<string, unknown>;
}

const user = { role: "user", content: "hi" };

test.each([
  ["a text", { messages: [user] }, { messages: [{ ...user, content: `hi\n\n${SENTENCE}` }] }],
  [
    "parts, after the results of tools among them",
    { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "" }] }] },
    {
      messages: [
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t", content: "" },
            { type: "text", text: SENTENCE },
          ],
        },
      ],
    },
  ],
  [
    "a turn after a tool's",
    { messages: [user, { role: "tool", tool_call_id: "t", content: "" }] },
    {
      messages: [
        user,
        { role: "tool", tool_call_id: "t", content: "" },
        { role: "user", content: [{ type: "text", text: SENTENCE }] },
      ],
    },
  ],
  ["an input", { input: "hi" }, { input: `hi\n\n${SENTENCE}` }],
  [
    "an item after a function's output",
    { input: [{ type: "function_call_output", call_id: "c", output: "" }] },
    {
      input: [
        { type: "function_call_output", call_id: "c", output: "" },
        { role: "user", content: [{ type: "input_text", text: SENTENCE }] },
      ],
    },
  ],
  [
    "contents",
    { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    { contents: [{ role: "user", parts: [{ text: "hi" }, { text: SENTENCE }] }] },
  ],
  ["a beginning that the model continues: nothing", { messages: [user, { role: "assistant", content: "I" }] }, null],
])("%s", (_, body, expected) => {
  expect(told(body)).toEqual(expected ?? body);
});

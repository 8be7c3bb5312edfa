// A streamed thought goes back to its vendor with its signature, and the strict sandbox accepts the conversation.
import { expect, it } from "vitest";
import type { ChatBody } from "../../../src/models/formats/chat-completions/fields.ts";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import { STAND_INS } from "../../../src/models/formats/stand-ins.ts";
import { startSandbox } from "../../../src/sandbox/server.ts";
import type { Dialect } from "../../../src/upstream/format-kit/dialect.ts";
import { asked, chatContext, eventsOf, feed, RecordedStream } from "../../support/dialect-replay.ts";
import { forFile } from "../../support/for-file.ts";

const sandbox = forFile(await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 }));

const HEADERS = { authorization: "Bearer any", "x-api-key": "any", "some-version": "1", "x-goog-api-key": "any" };

async function streamed(dialect: Dialect, body: ChatBody) {
  const context = chatContext({ upstreamModel: "ok", stream: true, wire: { reasoningSummary: "auto" } });
  expect(dialect.unsupported(asked(body), context)).toBe(null);
  const upstream = dialect.request(asked(body), context);
  const sent = JSON.stringify(upstream.body);
  const response = await fetch(`${sandbox.url}/sandbox${upstream.path}`, {
    method: "POST",
    headers: HEADERS,
    body: sent,
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.anything()]);
  const out = new RecordedStream();
  expect(feed(dialect, context, eventsOf(text), out)).toBe(0);
  return { sent, out, message: (await out.completion(context)).choices[0]?.message };
}

it.each([
  ["messages", messages, "signature"],
  ["generate-content", generateContent, "thoughtSignature"],
  ["responses", responses, "encrypted_content"],
] as const)("%s", async (_, dialect, field) => {
  const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const tools = [{ type: "function", function: { name: "weather", parameters } }];
  const body = { messages: [{ role: "user", content: "Think" }], reasoning_effort: "low", tools };
  const { out, message } = await streamed(dialect, body);
  expect(out.text("reasoning")).toMatch(/\w/);
  const { tool_calls } = message ?? {};
  const said = { role: "assistant", content: null, tool_calls, reasoning_details: out.list("reasoning_details") };
  const result = { role: "tool", tool_call_id: tool_calls?.[0]?.id, content: "fine" };
  const second = await streamed(dialect, { ...body, messages: [...body.messages, said, result] } as ChatBody);
  expect(second.sent).toContain(`"${field}":"`);
  expect(second.message?.content).toMatch(/\w/);
});

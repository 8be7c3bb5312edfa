// The messages wire over every dialect, as a caller sees it: whole and streamed, with tools, and the charges.

import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";
import { callMessages, type MessageSeen } from "../../support/messages-call.ts";

const MODELS = [
  "sandbox/ok",
  "sandbox-responses/ok",
  "sandbox-gemini/ok",
  "sandbox-messages/ok",
  "sandbox-converse/ok",
];
const TOOLS = ["get_weather", "get_time"].map((name) => ({
  name,
  description: "Of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
}));

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

function ask(body: Record<string, unknown>, headers: Record<string, string> = {}): Promise<MessageSeen> {
  return callMessages({ max_tokens: 1_000, ...body }, { url: gateway.url, key: account.key, headers });
}

const said = (content: unknown) => [{ role: "user", content }];

/** A call's posting agrees with its answer. */
async function expectCharged({ headers, message }: MessageSeen): Promise<void> {
  const requestId = headers.get("request-id");
  expect(requestId).toBe(headers.get("x-request-id"));
  const response = await getAs(
    account.key,
    `${gateway.url}/api/v1/transactions/${String(requestId).replace(/^req_/, "tx_")}`,
  );
  const row = (await response.json()) as { charged_nano_usd: string; usage: Record<string, number> };
  const { usage } = message;
  expect(Number(row.charged_nano_usd) / 1e9).toBeCloseTo(usage.cost ?? Number.NaN, 12);
  expect(usage.cost).toBeGreaterThan(0);
  expect(row.usage).toMatchObject({
    input_tokens: usage.input_tokens,
    cache_read_tokens: usage.cache_read_input_tokens,
    cache_write_tokens: usage.cache_creation_input_tokens,
    output_tokens: usage.output_tokens,
  });
}

describe.each(MODELS)("%s", (model) => {
  describe.each([
    ["whole", false],
    ["streamed", true],
  ])("%s", (_, stream) => {
    it("answers with text, says who served, and charges what its usage says", async () => {
      const seen = await ask({ model, stream, messages: said("[[say: one two three]]") });
      expect(seen.status).toBe(200);
      expect(seen.text).toBe("one two three");
      // No extra fields: some clients reject even a null that the wire's own vendor never sends.
      expect(seen.message.content).toEqual([{ type: "text", text: "one two three" }]);
      expect(seen.message).toMatchObject({ type: "message", role: "assistant", model, stop_reason: "end_turn" });
      expect(String(seen.message.id)).toMatch(/^msg_/);
      expect(seen.message.usage).toMatchObject({ output_tokens: 3, cache_read_input_tokens: 0 });
      expect(seen.headers.get("x-tollgate-model")).toBe(model);
      await expectCharged(seen);
    });

    it("calls tools, and goes on with their results", async () => {
      const messages = said("[[parallel]] What now?");
      const seen = await ask({ model, stream, messages, tools: TOOLS });
      const calls = seen.message.content.filter(({ type }) => type === "tool_use");
      expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
      for (const { input } of calls) expect(input).toEqual({ city: expect.any(String) });
      expect(seen.message.stop_reason).toBe("tool_use");
      await expectCharged(seen);
      const results = calls.map(({ id }, at) => ({
        type: "tool_result",
        tool_use_id: id,
        content: at === 0 ? "sunny" : [{ type: "text", text: "noon" }],
        is_error: at === 1,
      }));
      const next = await ask({
        model,
        stream,
        tools: TOOLS,
        messages: [
          ...messages,
          { role: "assistant", content: seen.message.content },
          { role: "user", content: [...results, { type: "text", text: "[[say: fine]]" }] },
        ],
      });
      expect(next.text).toBe("fine");
      const forced = await ask({
        model,
        stream,
        tools: TOOLS,
        messages,
        tool_choice: { type: "tool", name: "get_time" },
      });
      expect(forced.message.content.map(({ name }) => name)).toContain("get_time");
    });

    it("ends at its bound on output, and at a stop of the caller's", async () => {
      const short = await ask({ model, stream, max_tokens: 20, messages: said("[[words: 100]]") });
      expect(short.message.stop_reason).toBe("max_tokens");
      expect(short.message.usage.output_tokens).toBe(20);
      if (model.startsWith("sandbox-responses")) return;
      const stopped = await ask({ model, stream, stop_sequences: ["two"], messages: said("[[say: one two]]") });
      expect(stopped.text.trim()).toBe("one");
      expect(stopped.message.stop_reason).toMatch(/^(end_turn|stop_sequence)$/);
      // Some vendors do not report that the caller's stop sequence ended the answer.
      const exact = stopped.message.stop_reason === "stop_sequence";
      expect([exact, stopped.message.stop_sequence]).toEqual([/messages|converse/.test(model), exact ? "two" : null]);
    });

    it("tells the three buckets of a prompt apart", async () => {
      const { message } = await ask({ model, stream, messages: said(`[[cached: 5]] ${"word ".repeat(30)}`) });
      expect(message.usage.cache_read_input_tokens).toBe(5);
      expect(message.usage.input_tokens).toBeGreaterThan(20);
    });
  });
});

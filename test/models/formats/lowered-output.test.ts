// A request for more output than a model can give is lowered, and a header says so, in every wire, streamed or not, with and without our
// tools.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 1_000_000 });

const HEADER = "x-tollgate-max-tokens";
const MODEL = "openai/gpt-5.4-mini";
const words = "[[say: hi]]";
const messages = [{ role: "user", content: words }];
const contents = [{ parts: [{ text: words }] }];
const stream = true;
const action = { type: "action", action: "brave/search" };

/** Where output is bounded: the request without the bound, and the bound's field. */
const WAYS: readonly [string, string, string, Record<string, unknown>][] = [
  ["/v1/chat/completions", "chat", "max_tokens", { model: MODEL, messages }],
  ["/v1/chat/completions", "chat", "max_completion_tokens", { model: MODEL, messages }],
  ["/v1/chat/completions", "chat, streamed", "max_tokens", { model: MODEL, messages, stream }],
  ["/v1/chat/completions", "chat with an action", "max_tokens", { model: MODEL, messages, tools: [action] }],
  ["/v1/responses", "responses", "max_output_tokens", { model: MODEL, input: words }],
  ["/v1/responses", "responses, streamed", "max_output_tokens", { model: MODEL, input: words, stream }],
  ["/v1/responses", "responses with an action", "max_output_tokens", { model: MODEL, input: words, tools: [action] }],
  ["/v1/messages", "messages", "max_tokens", { model: MODEL, messages }],
  ["/v1/messages", "messages, streamed", "max_tokens", { model: MODEL, messages, stream }],
  ["/v1/messages", "messages with an action", "max_tokens", { model: MODEL, messages, tools: [action] }],
  [`/v1beta/models/${MODEL}:generateContent`, "generate-content", "maxOutputTokens", { contents }],
  [
    `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`,
    "generate-content, events",
    "maxOutputTokens",
    { contents },
  ],
  [`/v1beta/models/${MODEL}:streamGenerateContent`, "generate-content, a list", "maxOutputTokens", { contents }],
  ["/v1/completions", "completions", "max_tokens", { model: "deepseek/deepseek-v4-pro", prompt: "a" }],
  ["/api/run/openai/chat", "a chat as an action", "max_tokens", { model: "gpt-5.4-mini", messages }],
  ["/api/run/anthropic/messages", "messages as an action", "max_tokens", { model: "claude-haiku-4-5", messages }],
];

describe.each(WAYS)("%s: %s by %s", (path, _, field, body) => {
  const ask = async (bound: number) => {
    const bounded = path.includes("models/") ? { generationConfig: { [field]: bound } } : { [field]: bound };
    const answer = await postAs(account.key, `${gateway.url}${path}`, { ...body, ...bounded });
    return { status: answer.status, lowered: answer.headers.get(HEADER), text: await answer.text() };
  };

  it.each([5_000_000, 10_000_000])("%d is lowered, and the header says to what", async (bound) => {
    const { status, lowered, text } = await ask(bound);
    expect([status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
    expect(Number(lowered)).toBeGreaterThan(0);
    expect(Number(lowered)).toBeLessThan(500_000);
  });

  it("what the model can give stands, and no header speaks of it", async () => {
    expect(await ask(100)).toMatchObject({ status: 200, lowered: null });
  });
});

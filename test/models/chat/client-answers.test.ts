// Several answers to one request, impatient clients, and long conversations, with the official client.
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { NAMES, TOOLS, upstreamLeft, user, words } from "./asking.ts";
import { expectOwnSum, postingOf } from "./own-sums.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });
const client = account.client;

describe("several answers to one request", () => {
  it.each(["sandbox/ok", "sandbox-gemini/ok", "openai/gpt-5.4-nano", "google/gemini-3.5-flash-lite"])(
    "come side by side from %s",
    async (model) => {
      const { data, request_id } = await client.chat.completions
        .create({ model, messages: user("twice"), n: 2 })
        .withResponse();
      expect(data.choices.map(({ index }) => index)).toEqual([0, 1]);
      expect(data.choices[0]?.message.content).not.toBe(data.choices[1]?.message.content);
      const usage = await expectOwnSum(gateway, account, { requestId: request_id, slug: model, usage: data.usage });
      expect(usage.completion_tokens).toBe(120);
      const streamed = await client.chat.completions
        .stream({ model, messages: user("twice"), n: 2 })
        .finalChatCompletion();
      expect(streamed.choices.map(({ message }) => message.content)).toEqual(
        data.choices.map(({ message }) => message.content),
      );
    },
  );

  it("go past a wire that has no place for them, and are refused where nothing else is left", async () => {
    const both = { models: ["sandbox-messages/ok", "sandbox/ok"], messages: user("twice"), n: 2 };
    const other = await client.chat.completions.create(
      both as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming,
    );
    expect([other.model, other.choices.length]).toEqual(["sandbox/ok", 2]);
    const alone = client.chat.completions.create({ model: "sandbox-messages/ok", messages: user("twice"), n: 2 });
    await expect(alone).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(alone).rejects.toMatchObject({ param: "n", code: "bad_request" });
    // A reseller of the same model uses a wire that supports two.
    const { data, response } = await client.chat.completions
      .create({ model: "anthropic/claude-haiku-4.5", messages: user("twice"), n: 2 })
      .withResponse();
    expect([data.choices.length, response.headers.get("x-tollgate-model")]).toEqual([2, "anthropic/claude-haiku-4.5"]);
  });
});

describe("a client that does not wait for a whole answer", () => {
  it.each(["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-responses", "sandbox-converse"])(
    "pays the prompt that %s had accepted, and it is told to stop",
    async (vendor) => {
      const leaving = new AbortController();
      const call = client.chat.completions.create(
        { model: `${vendor}/ok-at-10`, messages: user("hello") },
        { signal: leaving.signal },
      );
      const requestId = await eventually(async () => {
        const { requests } = await gateway.books();
        const row = requests.find(({ adapter, model }) => adapter === vendor && model === "ok-at-10");
        return row === undefined ? undefined : String(row.requestId);
      }, "the upstream to be asked");
      leaving.abort();
      await expect(call).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
      await upstreamLeft(gateway, requestId);
      expect((await gateway.record(requestId)).outcome).toBe("left_before_content");
      expect((await postingOf(gateway, account, requestId))?.usage).toMatchObject({ output_tokens: 0 });
    },
  );
});

describe("a stream that breaks", () => {
  it.each(["cut-after-40", "cut-clean-after-40", "error-after-40"])(
    "is an error to the client's helper, and no completion (%s)",
    async (fault) => {
      for (const vendor of ["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-responses", "sandbox-converse"]) {
        const stream = client.chat.completions.stream({ model: `${vendor}/${fault}`, messages: user("hello") });
        let text = "";
        stream.on("content", (delta) => {
          text += delta;
        });
        await expect(stream.finalChatCompletion()).rejects.toMatchObject({ status: undefined, code: "upstream_error" });
        expect([words(text), stream.errored]).toEqual([40, true]);
      }
    },
  );

  it("of two answers is broken when one of them is, whatever became of the other", async () => {
    let oneEnded = 0;
    for (let at = 0; at < 12; at++) {
      const ended: number[] = [];
      const stream = await client.chat.completions.create({
        model: "sandbox/cut-clean-after-40",
        messages: user(`which one? ${at}`),
        n: 2,
        // Words of the sandbox: one answer contains one of them, and the other does not.
        stop: [" found", " held", " made", " left"],
        stream: true,
      });
      const error = await (async () => {
        for await (const { choices } of stream) {
          for (const { index, finish_reason } of choices) {
            if (finish_reason !== null && (finish_reason as string) !== "error") ended.push(index);
          }
        }
        return null;
      })().catch((thrown: unknown) => thrown);
      if (ended.length < 2) expect(error).toMatchObject({ code: "upstream_error" });
      if (ended.length === 1) oneEnded++;
    }
    expect(oneEnded).toBeGreaterThan(0);
  });
});

describe("a long conversation of every kind of message", () => {
  it.each(NAMES)("is understood by %s", async (model, slug) => {
    const call = { id: "call_1", type: "function" as const, function: { name: "get_weather", arguments: "{}" } };
    const { choices, model: served } = await client.chat.completions.create({
      model,
      tools: TOOLS,
      temperature: 0.5,
      seed: 7,
      user: "somebody",
      metadata: { purpose: "test" },
      messages: [
        { role: "developer", content: "Be brief." },
        { role: "system", content: [{ type: "text", text: "Be kind." }] },
        { role: "user", name: "ada", content: "hello" },
        { role: "assistant", content: [{ type: "text", text: "hello" }] },
        { role: "user", content: [{ type: "text", text: "the weather?" }] },
        { role: "assistant", content: "Let me look.", tool_calls: [call, { ...call, id: "call_2" }] },
        { role: "tool", tool_call_id: "call_1", content: "sunny" },
        { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "rain" }] },
        { role: "assistant", content: null, refusal: "I would rather not say." },
        { role: "user", content: "please [[say: all is well]]" },
      ],
    });
    expect([served, choices[0]?.message.content, choices[0]?.finish_reason]).toEqual([slug, "all is well", "stop"]);
  });
});

// Chat with the official client, through every wire and by every kind of name: the features that a user sees.
import type OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { NAMES, TOOLS, upstreamLeft, user, words } from "./asking.ts";
import { expectOwnSum, type GatewayUsage, postingOf } from "./own-sums.ts";

/** Served over the wire that has thinking blocks, no JSON mode and one answer per request. */

/** Models that charge for hidden reasoning. */
const HIDES_REASONING = /^(openai\/gpt-[56]|google\/)/;

/** One pixel. */
const IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const WEATHER = z.object({ city: z.string(), days: z.number().int().min(1).max(7) });

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });
const client = account.client;

/** The usage, the posting and our own sum agree. */
function expectCharged(requestId: string | null, slug: string, usage: unknown): Promise<GatewayUsage> {
  return expectOwnSum(gateway, account, { requestId, slug, usage });
}

describe.concurrent.each(NAMES)("%s", (model, slug) => {
  it("answers whole, and says what served and what it cost", async () => {
    const { data, response, request_id } = await client.chat.completions
      .create({ model, messages: user("hello") })
      .withResponse();
    expect(data.object).toBe("chat.completion");
    expect(data.id).toMatch(/^chatcmpl-/);
    expect(data.model).toBe(slug);
    expect(words(data.choices[0]?.message.content)).toBe(60);
    expect(data.choices[0]?.finish_reason).toBe("stop");
    expect(response.headers.get("x-tollgate-model")).toBe(slug);
    expect(response.headers.get("x-tollgate-attempts")).toBe("1");
    expect(response.headers.get("x-tollgate-sandbox")).toBe("1");
    const usage = await expectCharged(request_id, slug, data.usage);
    expect(usage.completion_tokens).toBe(60);
    expect(Number(response.headers.get("x-tollgate-cost-usd"))).toBe(usage.cost);
  });

  it("streams the same words to the helper of the client", async () => {
    const whole = await client.chat.completions.create({ model, messages: user("hello again") });
    const stream = client.chat.completions.stream({
      model,
      messages: user("hello again"),
      stream_options: { include_usage: true },
    });
    let text = "";
    stream.on("content", (delta) => {
      text += delta;
    });
    const completion = await stream.finalChatCompletion();
    expect(completion.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
    expect(completion.choices[0]?.finish_reason).toBe("stop");
    expect(completion.model).toBe(slug);
    expect(text).toBe(completion.choices[0]?.message.content);
    expect((await stream.totalUsage()).completion_tokens).toBe(60);
    expect(completion.usage).toEqual(whole.usage);
  });

  it("sends usage in one last chunk when asked, and otherwise nowhere", async () => {
    const asked = await client.chat.completions
      .create({ model, messages: user("usage"), stream: true, stream_options: { include_usage: true } })
      .withResponse();
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of asked.data) chunks.push(chunk);
    const last = chunks.pop();
    expect(last?.choices).toEqual([]);
    await expectCharged(asked.request_id, slug, last?.usage);
    for (const chunk of chunks) {
      expect(chunk.usage ?? null).toBe(null);
      expect(chunk.choices.length).toBeGreaterThan(0);
      expect([chunk.model, chunk.object, chunk.id]).toEqual([slug, "chat.completion.chunk", last?.id]);
    }
    expect(asked.response.headers.get("content-type")).toContain("text/event-stream");
    const unasked = await client.chat.completions.create({ model, messages: user("usage"), stream: true });
    let count = 0;
    for await (const chunk of unasked) {
      count++;
      expect(chunk.usage ?? null).toBe(null);
      expect(chunk.choices.length).toBeGreaterThan(0);
    }
    expect(count).toBeGreaterThan(60);
  });

  it.each([false, true])("runs tools until the answer is there (streamed: %s)", async (stream) => {
    const seen: unknown[] = [];
    const tools = [
      {
        type: "function" as const,
        function: {
          name: "get_weather",
          description: "Tells the weather.",
          parameters: z.toJSONSchema(WEATHER) as Record<string, unknown>,
          parse: (text: string) => WEATHER.parse(JSON.parse(text)),
          function: (input: z.infer<typeof WEATHER>) => {
            seen.push(input);
            return { sunny: true };
          },
        },
      },
    ];
    const body = { model, messages: user("what is the weather?"), tools };
    const runner = stream
      ? client.chat.completions.runTools({ ...body, stream: true })
      : client.chat.completions.runTools(body);
    expect(words(await runner.finalContent())).toBe(60);
    expect(seen).toHaveLength(1);
    expect(runner.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it.each([false, true])("calls two tools at once, each with an id of its own (streamed: %s)", async (stream) => {
    const body = { model, messages: user("the weather [[parallel]]"), tools: TOOLS };
    const completion = stream
      ? await client.chat.completions.stream(body).finalChatCompletion()
      : await client.chat.completions.create(body);
    const [choice] = completion.choices;
    const calls = (choice?.message.tool_calls ?? []).filter((call) => call.type === "function");
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(calls.map((call) => call.function.name)).toEqual(["get_weather", "get_forecast"]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    for (const call of calls) expect(WEATHER.safeParse(JSON.parse(call.function.arguments)).success).toBe(true);
    const answered: OpenAI.ChatCompletionMessageParam[] = [
      ...body.messages,
      { role: "assistant", content: null, tool_calls: calls },
      ...calls.map(({ id }) => ({ role: "tool" as const, tool_call_id: id, content: "sunny" })),
    ];
    const after = await client.chat.completions.create({ ...body, messages: answered });
    expect(words(after.choices[0]?.message.content)).toBe(60);
  });

  it("calls the tool that tool_choice names, one at a time where parallel calls are off", async () => {
    const forced = await client.chat.completions.create({
      model,
      messages: user("hello [[say: I would rather talk]]"),
      tools: TOOLS,
      tool_choice: { type: "function", function: { name: "get_forecast" } },
    });
    const names = (completion: OpenAI.ChatCompletion) =>
      completion.choices[0]?.message.tool_calls?.map((call) => (call.type === "function" ? call.function.name : ""));
    expect(names(forced)).toEqual(["get_forecast"]);
    for (const tools of [TOOLS, []]) {
      const none = await client.chat.completions.create({ model, messages: user("x"), tools, tool_choice: "none" });
      expect(none.choices[0]?.message.tool_calls ?? []).toEqual([]);
    }
    const single = client.chat.completions
      .create({
        model,
        messages: user("weather [[parallel]]"),
        tools: TOOLS,
        tool_choice: "required",
        parallel_tool_calls: false,
      })
      .withResponse();
    // Two wires cannot express it: an error says so, or a header where the vendor is called without it.
    if (slug === "sandbox-gemini/ok" || slug === "sandbox-converse/ok") {
      await expect(single).rejects.toMatchObject({ status: 400, code: "bad_request", param: "parallel_tool_calls" });
      return;
    }
    const { data, response } = await single;
    const dropped = response.headers.get("x-tollgate-dropped") === "parallel_tool_calls";
    expect([slug.startsWith("google/"), names(data)?.length]).toEqual([dropped, dropped ? 2 : 1]);
  });

  it.each([false, true])("answers by a schema that the client parses (streamed: %s)", async (stream) => {
    const schema = z.object({
      city: z.string(),
      days: z.array(z.object({ high: z.number(), sky: z.enum(["clear", "cloudy"]) })),
      note: z.string().nullable(),
    });
    const body = { model, messages: user("weather as data"), response_format: zodResponseFormat(schema, "weather") };
    const completion = stream
      ? await client.chat.completions.stream(body).finalChatCompletion()
      : await client.chat.completions.parse(body);
    const parsed = completion.choices[0]?.message.parsed;
    expect(schema.parse(parsed)).toEqual(parsed);
    const loose = await client.chat.completions.create({
      model,
      messages: user("any JSON"),
      response_format: { type: "json_object" },
    });
    expect(typeof JSON.parse(loose.choices[0]?.message.content ?? "")).toBe("object");
  });

  it("takes an image beside text", async () => {
    const plain = await client.chat.completions.create({ model, messages: user("what is this?") });
    const seen = await client.chat.completions.create({
      model,
      messages: user([
        { type: "text", text: "what is this?" },
        { type: "image_url", image_url: { url: IMAGE, detail: "low" } },
      ]),
    });
    expect(words(seen.choices[0]?.message.content)).toBe(60);
    expect((seen.usage?.prompt_tokens ?? 0) - (plain.usage?.prompt_tokens ?? 0)).toBe(85);
  });

  it("thinks when asked to, and counts it within the output", async () => {
    const { data, request_id } = await client.chat.completions
      .create({ model, messages: user("think"), reasoning_effort: "medium" })
      .withResponse();
    expect(words(data.choices[0]?.message.content)).toBe(60);
    const usage = await expectCharged(request_id, slug, data.usage);
    expect(usage.completion_tokens).toBeGreaterThan(60);
    const streamed = await client.chat.completions.create({
      model,
      messages: user("think"),
      reasoning_effort: "medium",
      stream: true,
    });
    let thoughts = "";
    let text = "";
    for await (const chunk of streamed) {
      const delta = chunk.choices[0]?.delta as { content?: string; reasoning?: string } | undefined;
      thoughts += delta?.reasoning ?? "";
      text += delta?.content ?? "";
    }
    // The responses format shows thoughts only as a summary, which this provider's adapter does not request.
    expect(words(thoughts) > 0).toBe(slug !== "sandbox-responses/ok");
    expect(text).toBe(data.choices[0]?.message.content);
  });

  it("stops where stop says, and at max_tokens", async () => {
    const said = user("count [[say: one two three four five]]");
    const stopped = (stop: string | string[]) => client.chat.completions.create({ model, messages: said, stop });
    // The responses format has no stop sequences, and no output limit below 16 tokens.
    if (slug === "sandbox-responses/ok") {
      await expect(stopped(" three")).rejects.toMatchObject({ status: 400, code: "bad_request", param: "stop" });
      return;
    }
    const one = await stopped(" three");
    expect([one.choices[0]?.message.content, one.choices[0]?.finish_reason]).toEqual(["one two", "stop"]);
    const list = await stopped(["nine", " five"]);
    expect(list.choices[0]?.message.content).toBe("one two three four");
    const cut = await client.chat.completions.create({ model, messages: said, max_tokens: 3 });
    expect([cut.choices[0]?.message.content, cut.choices[0]?.finish_reason]).toEqual(["one two three", "length"]);
    const streamed = await client.chat.completions
      .stream({ model, messages: said, max_completion_tokens: 2, max_tokens: 4 })
      .finalChatCompletion();
    expect(streamed).toMatchObject({ choices: [{ message: { content: "one two" }, finish_reason: "length" }] });
  });

  it("reports and charges what came from a cache", async () => {
    const text = `${"word ".repeat(200)}[[cached: 120]] [[cache-write: 40]]`;
    const { data, request_id } = await client.chat.completions.create({ model, messages: user(text) }).withResponse();
    const usage = await expectCharged(request_id, slug, data.usage);
    expect(usage.prompt_tokens_details.cached_tokens).toBe(120);
    // Gemini's wire does not report cache writes.
    if (!slug.includes("gemini")) expect(usage.prompt_tokens_details.cache_write_tokens).toBe(40);
  });

  it("ends well where the client aborts in mid-stream: stopped, or read on where the model reasons unseen", async () => {
    const controller = new AbortController();
    const isReadOn = HIDES_REASONING.test(slug);
    const text = isReadOn ? "short [[words: 300]] [[pace: 200]]" : "long [[words: 5000]] [[pace: 200]]";
    const { data, request_id } = await client.chat.completions
      .create({ model, messages: user(text), stream: true, max_tokens: 8_000 }, { signal: controller.signal })
      .withResponse();
    let seen = "";
    for await (const chunk of data) {
      seen += chunk.choices[0]?.delta.content ?? "";
      if (words(seen) >= 20) controller.abort();
    }
    const record = await gateway.record(request_id);
    expect(record.outcome).toBe("left_after_content");
    const posting = await postingOf(gateway, account, request_id);
    expect(posting?.model).toBe(slug);
    const output = Number(posting?.usage?.output_tokens ?? posting?.usage?.completion_tokens);
    if (isReadOn) {
      // Its usage was reported, and nothing was estimated.
      expect([output, record.estimated ?? false]).toEqual([300, false]);
      return;
    }
    expect(output).toBeGreaterThanOrEqual(20);
    expect(output).toBeLessThan(2_000);
    await upstreamLeft(gateway, request_id);
  });
});

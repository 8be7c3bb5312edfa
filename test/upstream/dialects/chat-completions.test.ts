// OpenAI's wire: what is sent under our model's name, what is held back, and which events are never parsed.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ChatSpec } from "../../../src/catalog/adapter.ts";
import type { FinalPart } from "../../../src/core/route.ts";
import { chatCompletionsPassing } from "../../../src/models/formats/chat-completions/vendor.ts";
import type { ChatContext } from "../../../src/upstream/format-kit/dialect.ts";
import { HeldStream } from "../../../src/upstream/held-stream.ts";

function context(spec: Partial<ChatSpec> = {}, stream = true): ChatContext {
  return {
    upstreamModel: "small-1",
    servedSlug: "maker/small",
    completionId: "chatcmpl-ours",
    createdS: 1_700_000_000,
    stream,
    outputTokensMax: 100,
    spec: { dialect: "chat-completions", models: {}, ...spec },
    wire: {},
  };
}

function play(events: readonly string[], spec: Partial<ChatSpec> = {}) {
  const sent: string[] = [];
  let final: FinalPart | null = null;
  let failure: string | null = null;
  const stream = new HeldStream({
    content: (bytes) => sent.push(Buffer.from(bytes).toString()),
    done: (part) => {
      final = part;
    },
    failed: ({ kind }) => {
      failure = kind;
    },
  });
  const reader = chatCompletionsPassing.reader(context(spec), stream);
  const read = events.map((event) => {
    const bytes = Buffer.from(`data: ${event}\n\n`);
    const good = reader.event(bytes, 6, bytes.length - 2, null);
    stream.flush();
    return good;
  });
  const tail = () => (final?.kind === "stream" ? Buffer.from(final.tail).toString() : null);
  return { sent, read, stream, tail, failure: () => failure };
}

function chunk(delta: unknown, rest: Record<string, unknown> = {}, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return JSON.stringify({
    id: "up-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "small-1-0806",
    choices,
    ...rest,
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a stream in OpenAI's wire", () => {
  it("goes out under our model and id, with role chunk and finish held back in place", () => {
    const { sent, tail } = play([
      chunk({ role: "assistant", content: "" }),
      chunk({ content: "Hé" }),
      chunk({ content: ' "quoted" \n' }),
      chunk({}, {}, "stop"),
      JSON.stringify({ id: "up-1", choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } }),
      "[DONE]",
    ]);
    expect(sent.length).toBe(2);
    const chunks = `${sent.join("")}${tail()}`
      .split("\n\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line.slice(6)));
    expect(chunks.map(({ id, model }) => `${id} ${model}`)).toEqual(Array(4).fill("chatcmpl-ours maker/small"));
    expect(chunks.map(({ choices }) => choices[0].delta.content)).toEqual(["", "Hé", ' "quoted" \n', undefined]);
    expect(chunks.at(-1).choices[0].finish_reason).toBe("stop");
  });

  it("parses the first event of a kind and none of those alike", () => {
    const parse = vi.spyOn(JSON, "parse");
    const events = Array.from({ length: 100 }, (_, at) => chunk({ content: `word\\${at} ü "x" \u2028` }));
    const { sent, stream } = play(events);
    expect(parse).toHaveBeenCalledTimes(1);
    expect(sent.length).toBe(100);
    vi.restoreAllMocks();
    expect(JSON.parse(sent[99]?.slice(6) ?? "").choices[0].delta.content).toBe('word\\99 ü "x" \u2028');
    expect(stream.reading().delivered.text).toContain('word\\42 ü "x" \u2028word\\43');
  });

  it("leaves out broken events and says so, also those that begin like good ones", () => {
    const good = chunk({ content: "a" });
    const broken = [
      good.slice(0, 40),
      good.replace('"a"', '"a'),
      good.replace('"a"', '"\\x"'),
      good.replace('"a"', '"a""b"'),
      "[1,2",
      "5",
    ];
    const { read, sent } = play([good, ...broken, good]);
    expect(read).toEqual([true, false, false, false, false, false, false, true]);
    expect(sent.length).toBe(2);
    for (const event of sent) expect(() => JSON.parse(event.slice(6))).not.toThrow();
  });

  it("takes the last usage, never a sum, in disjoint buckets, and hides it", () => {
    const usage = (completion: number) => ({
      usage: {
        prompt_tokens: 100,
        completion_tokens: completion,
        prompt_tokens_details: { cached_tokens: 60 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
    const { sent, stream, tail } = play([
      chunk({ content: "a" }, usage(1)),
      chunk({ content: "b" }, usage(2)),
      chunk({ content: "c" }, { ...usage(3), x_groq: { id: "r" } }, "stop"),
      "[DONE]",
    ]);
    expect(stream.reading().usage).toEqual({
      inputTokens: 40,
      cacheReadTokens: 60,
      cacheWriteTokens: 0,
      outputTokens: 3,
      reasoningTokens: 2,
    });
    expect(`${sent.join("")}${tail()}`).not.toContain("usage");
  });

  it("reads usage and caches where the adapter says they are", () => {
    const { stream } = play(
      [
        chunk(
          {},
          { x_groq: { usage: { prompt_tokens: 9, completion_tokens: 1, prompt_cache_hit_tokens: 4 } } },
          "stop",
        ),
      ],
      { usageAt: ["/usage", "/x_groq/usage"], cacheReadAt: ["/prompt_cache_hit_tokens"] },
    );
    expect(stream.reading().usage).toMatchObject({ inputTokens: 5, cacheReadTokens: 4, outputTokens: 1 });
  });

  it("adds reasoning that the adapter says comes beside the rest, unless the total shows that it is within", () => {
    const usage = (total_tokens: number | undefined) => {
      const counts = { prompt_tokens: 10, completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 8 } };
      const last = chunk({}, { usage: { ...counts, total_tokens } }, "stop");
      return play([last], { reasoningOutside: true }).stream.reading().usage;
    };
    expect(usage(38)).toMatchObject({ outputTokens: 28, reasoningTokens: 8 });
    expect(usage(undefined)).toMatchObject({ outputTokens: 28, reasoningTokens: 8 });
    expect(usage(30)).toMatchObject({ outputTokens: 20, reasoningTokens: 8 });
  });

  it("fails on an error event, before and after content", () => {
    const error = JSON.stringify({ error: { message: "Overloaded", type: "overloaded_error", code: 529 } });
    expect(play([error]).failure()).toBe("provider_overloaded");
    const after = play([chunk({ content: "a" }), error, chunk({ content: "b" }), "[DONE]"]);
    expect([after.failure(), after.sent.length, after.tail()]).toEqual(["provider_overloaded", 1, null]);
    expect(play([chunk({}, {}, "error")]).failure()).toBe("provider_server_error");
  });

  it("is cut, not whole, when it ends without a finish", () => {
    expect(play([chunk({ content: "a" }), "[DONE]"]).failure()).toBe("provider_cut");
  });

  it.each<[string, ...(readonly [text: string | null, finish: string | null])[]]>([
    ["a bare one, then another", ["a", null], [null, "stop"], [null, "length"]],
    ["a bare one, then content", ["a", null], [null, "stop"], ["b", null], [null, "length"]],
    ["a bare one, then one with content", ["a", null], [null, "stop"], ["b", "length"]],
    ["one with content, then a bare one", ["a", null], ["b", "stop"], [null, "length"]],
    ["one with content, then content", ["a", null], ["b", "stop"], ["c", null], [null, "length"]],
    ["one with content, a bare one, then content", ["a", "stop"], [null, "tool_calls"], ["b", null], [null, "length"]],
    ["one in every chunk", ["a", "stop"], ["b", "stop"], ["c", "length"]],
    ["one in every chunk, then a bare one", ["a", "stop"], ["b", "stop"], [null, "length"]],
    ["one with content that content follows to the end", ["a", "length"], ["b", null]],
  ])("sends one finish reason, the last, after all content: %s", (_, ...said) => {
    const events = said.map(([content, finish]) => chunk(content === null ? {} : { content }, {}, finish));
    const { sent, tail, failure } = play([...events, "[DONE]"]);
    const lines = `${sent.join("")}${tail()}`.split("\n\n").filter(Boolean);
    const choices = lines.map((line) => JSON.parse(line.slice(6)).choices[0]);
    expect(failure()).toBe(null);
    expect(choices.map(({ delta }) => delta.content ?? "").join("")).toBe(said.map(([text]) => text ?? "").join(""));
    const reasons = choices.map((choice) => choice.finish_reason);
    expect(reasons.filter((reason) => reason !== null)).toEqual(["length"]);
    expect(reasons.at(-1)).toBe("length");
  });

  it.each([
    ["a later finish", []],
    ["more content and a later finish", [chunk({ content: "c" })]],
  ])("a chunk that finishes two choices keeps the reason of one where the other gets %s", (_, more) => {
    const both = ["a", "b"].map((content, index) => ({ index, delta: { content }, finish_reason: "stop" }));
    const first = JSON.stringify({ id: "u", choices: both });
    const { sent, tail } = play([first, ...more, chunk({}, {}, "length"), "[DONE]"]);
    const lines = `${sent.join("")}${tail()}`.split("\n\n").filter(Boolean);
    const choices = lines.flatMap((line) => JSON.parse(line.slice(6)).choices);
    const reasonsOf = (index: number) =>
      choices.flatMap((one) => (one.index === index && one.finish_reason !== null ? [one.finish_reason] : []));
    expect([reasonsOf(0), reasonsOf(1)]).toEqual([["length"], ["stop"]]);
  });

  it("lets one choice go on after another has finished", () => {
    const second = (delta: unknown, finish: string | null = null) =>
      JSON.stringify({ id: "u", choices: [{ index: 1, delta, finish_reason: finish }] });
    const { sent, tail } = play([
      chunk({ content: "a" }),
      chunk({}, {}, "stop"),
      second({ content: "b" }),
      second({}, "length"),
      "[DONE]",
    ]);
    expect(sent[1]).toContain('"stop"');
    expect(sent[1]).toContain('"b"');
    expect(tail()).toContain('"length"');
  });
});

describe("a request in OpenAI's wire", () => {
  const body = {
    model: "core/cheap",
    models: ["x"],
    messages: [{ role: "user", content: "hi" }],
    max_completion_tokens: 5,
    top_k: 3,
    stream: true,
    stream_options: { include_usage: false },
  };

  it("carries our bound, asks for usage, lets unknown fields ride along", () => {
    expect(chatCompletionsPassing.request(body, context()).body).toEqual({
      model: "small-1",
      messages: body.messages,
      top_k: 3,
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("differs by the adapter's fields alone", () => {
    const wire = {
      maxTokensField: "max_completion_tokens",
      dropFields: ["top_k"],
      extraFields: { store: false },
    } as const;
    const sent = chatCompletionsPassing.request(body, { ...context({ streamUsage: "always" }), wire }).body;
    expect(sent).toEqual({
      model: "small-1",
      messages: body.messages,
      max_completion_tokens: 100,
      stream: true,
      store: false,
    });
  });
});

describe("a whole answer in OpenAI's wire", () => {
  const choices = [
    { index: 0, message: { role: "assistant", content: "hi", tool_calls: [{ id: "t" }] }, finish_reason: "stop" },
  ];

  it("comes back under our model and id, its usage apart", () => {
    const usage = { prompt_tokens: 3, completion_tokens: 1, cost: 0.0000125 };
    const read = chatCompletionsPassing.answer(
      { id: "up", model: "m", choices, usage },
      context({ costUsdAt: "/cost" }, false),
    );
    expect(read).toEqual({
      body: { id: "chatcmpl-ours", model: "maker/small", choices },
      usage: { inputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 1, reasoningTokens: 0 },
      upstreamCostNano: 12_500,
      text: "",
    });
  });

  it("brings its text where no usage came, for a count of our own", () => {
    const read = chatCompletionsPassing.answer({ choices }, context({}, false));
    expect(read).toMatchObject({ usage: null, text: 'hi[{"id":"t"}]' });
  });

  it("is a failure when it is an error inside a 200, a page, or nothing", () => {
    const kinds = [{ error: { code: 402, message: "no credit" } }, "<html>", null, { choices: [] }].map((json) => {
      const read = chatCompletionsPassing.answer(json, context({}, false));
      return "kind" in read ? read.kind : "answer";
    });
    expect(kinds).toEqual(["provider_billing", "provider_malformed", "provider_malformed", "provider_malformed"]);
  });
});

describe("what a model thinks aloud has two names", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each(["reasoning", "reasoning_content"])(
    "a stream's %s goes out under both, the second chunk unparsed",
    (name) => {
      const thoughts = ["Let", ' me\\n "see"', " é 漢"];
      const parse = vi.spyOn(JSON, "parse");
      const { sent, stream } = play([
        chunk({ role: "assistant", content: null, [name]: thoughts[0] }),
        chunk({ [name]: thoughts[1] }),
        chunk({ [name]: thoughts[2] }),
        chunk({ [name]: thoughts[1] }),
        chunk({ content: "Yes" }),
      ]);
      // The first, which has a role, the next, which teaches the template, and the first of another kind.
      expect(parse).toHaveBeenCalledTimes(3);
      parse.mockRestore();
      const deltas = sent.map((event) => JSON.parse(event.slice(6)).choices[0].delta);
      expect(deltas.slice(0, 4)).toMatchObject(
        [thoughts[0], thoughts[1], thoughts[2], thoughts[1]].map((text) => ({
          reasoning: text,
          reasoning_content: text,
        })),
      );
      expect(deltas[4]).toEqual({ content: "Yes" });
      const { delivered } = stream.reading();
      expect(delivered.text).toBe(`${thoughts[0]}${thoughts[1]}${thoughts[2]}${thoughts[1]}Yes`);
    },
  );

  it("a vendor that gives both is passed on, and counted once", () => {
    const both = { reasoning: "a thought", reasoning_content: "a thought" };
    const { sent, stream } = play([chunk(both), chunk(both)]);
    for (const event of sent) expect(JSON.parse(event.slice(6)).choices[0].delta).toEqual(both);
    expect(stream.reading().delivered.text).toBe("a thoughta thought");
  });

  it.each(["reasoning", "reasoning_content"])("a whole answer's %s does too", (name) => {
    const choices = [
      { index: 0, message: { role: "assistant", content: "Yes", [name]: "Hm." }, finish_reason: "stop" },
    ];
    const answer = chatCompletionsPassing.answer({ choices }, context({}, false));
    if ("kind" in answer) throw new Error(answer.message);
    const [choice] = answer.body.choices as { message: Record<string, unknown> }[];
    expect(choice?.message).toMatchObject({ content: "Yes", reasoning: "Hm.", reasoning_content: "Hm." });
    expect(answer.text).toBe("YesHm.");
  });

  it.each([
    ["reasoning", "reasoning_content"],
    ["reasoning_content", "reasoning"],
  ])("a vendor that takes %s gets it from a caller who sends %s, or both, once", (takes, sends) => {
    const wire = { takes: { messageFields: [takes] } };
    for (const thoughts of [{ [sends]: "Hm." }, { reasoning: "Hm.", reasoning_content: "Hm." }]) {
      const messages = [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Yes", ...thoughts },
      ];
      const { body } = chatCompletionsPassing.request({ messages }, { ...context(), wire });
      expect((body.messages as unknown[])[1]).toEqual({ role: "assistant", content: "Yes", [takes]: "Hm." });
    }
  });
});

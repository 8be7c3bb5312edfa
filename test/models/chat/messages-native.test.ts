// The messages wire over a vendor that uses it too: the caller's bytes go out, the vendor's come back, and what cannot be sold is refused.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { callMessages, type MessageSeen } from "../../support/messages-call.ts";
import { startVendor } from "../../support/vendor-server.ts";

const MODEL = "anthropic/claude-opus-5";
const OTHER = "openai/gpt-5.5";

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startTestGateway({
    ANTHROPIC_API_KEY: "key-of-anthropic",
    ANTHROPIC_BASE_URL: `${vendor.url}/anthropic/v1`,
    OPENAI_API_KEY: "key-of-openai",
    OPENAI_BASE_URL: `${vendor.url}/openai/v1`,
    GEMINI_API_KEY: "key-of-gemini",
    GEMINI_BASE_URL: `${vendor.url}/gemini/v1`,
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 100_000 });

function ask(body: unknown, headers: Record<string, string> = {}): Promise<MessageSeen> {
  return callMessages(body, { url: gateway.url, key: account.key, headers });
}

const HELLO = { model: MODEL, max_tokens: 100, messages: [{ role: "user", content: "Hi" }] };

const WHOLE = {
  id: "msg_vendors",
  type: "message",
  role: "assistant",
  model: "claude-opus-5-20260801",
  content: [
    { type: "thinking", thinking: "hm", signature: "c2lnbmVk" },
    { type: "text", text: "Hello", citations: null },
  ],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: {
    input_tokens: 7,
    cache_creation_input_tokens: 20,
    cache_read_input_tokens: 300,
    output_tokens: 5,
    service_tier: "standard",
    cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 0 },
  },
};

function events(...list: readonly (Record<string, unknown> & { readonly type: string })[]): string {
  return list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

const START = {
  type: "message_start",
  message: { ...WHOLE, content: [], stop_reason: null, usage: { ...WHOLE.usage, output_tokens: 1 } },
};
const TEXT = [
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "ping" },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: 'lo "you"\n' } },
  { type: "content_block_stop", index: 0 },
];
const END = [
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 9, server_tool_use: null },
  },
  { type: "message_stop" },
];

function streams(text: string): void {
  vendor.answers({ headers: { "content-type": "text/event-stream" }, body: text });
}

describe("what goes out", () => {
  it("is what came, to the byte, but for the model, the bound on output and the stream", async () => {
    vendor.answers({ body: WHOLE });
    const conversation =
      '[{"role":"user","content":[{"type":"text","text":"Hi \\u00e9 \\/","cache_control":{"type":"ephemeral"}}]},' +
      '{"role":"assistant","content":[{"type":"thinking","thinking":"so","signature":"c2ln"},' +
      '{"type":"tool_use","id":"toolu_1","name":"f","input":{"b":1.0,"2":1e2,"1":12345678901234567890}}]},' +
      '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok","is_error":true}]},' +
      '{"role":"system","content":"be brief"}]';
    const kept = `"messages":${conversation},"new_field": {"x" : [1.50]},"system":[{"type":"text","text":"x-acme-billing-header: a=1"}],"metadata":{"user_id":"u"}`;
    const sent = `{ "model":"${MODEL}", "max_cost_cents":500,\n"max_tokens":900000,${kept}, "temperature":1}`;
    const seen = await ask(sent, {
      "anthropic-beta": "effort-2025-11-24, interleaved-thinking-2025-05-14",
      "anthropic-version": "2026-10-21",
    });
    expect(seen.status, JSON.stringify(seen.message)).toBe(200);
    const [asked] = vendor.asked;
    expect(asked?.url).toBe("/anthropic/v1/messages");
    // Particular to this model: it accepts no sampling parameters.
    expect(asked?.text).toBe(`{"model":"claude-opus-5","max_tokens":128000,${kept}}`);
    expect(asked?.headers["anthropic-beta"]).toBe("effort-2025-11-24,interleaved-thinking-2025-05-14");
    expect(asked?.headers["anthropic-version"]).toBe("2026-10-21");
    expect(asked?.headers["x-api-key"]).toBe("key-of-anthropic");
    expect(asked?.headers.authorization).toBeUndefined();
  });

  it("leaves out betas that nobody knows, and what may have come with them, and names both", async () => {
    vendor.answers({ body: WHOLE });
    const strange = Array.from({ length: 40 }, (_, at) => `shiny-${at}-2027-01-01`);
    const seen = await ask(
      { ...HELLO, shiny: { bright: true } },
      { "anthropic-beta": ["effort-2025-11-24", ...strange, "effort-2025-11-24"].join(",") },
    );
    expect(seen.status, JSON.stringify(seen.message)).toBe(200);
    expect(vendor.asked[0]?.headers["anthropic-beta"]).toBe("effort-2025-11-24");
    expect(vendor.asked[0]?.body).not.toHaveProperty("shiny");
    const told = (seen.headers.get("x-tollgate-dropped") ?? "").split(",");
    expect(told.slice(0, 20)).toEqual(strange.slice(0, 20).map((word) => `anthropic-beta:${word}`));
    expect(told.slice(20)).toEqual(["+21 more"]);
  });

  it("keeps the digits of arguments where it leaves something out", async () => {
    vendor.answers({ body: WHOLE });
    const input = '{"b":1.0,"2":1e2,"1":12345678901234567890}';
    const call = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":${input}}]}`;
    const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}';
    const messages = `[{"role":"user","content":"Hi"},${call},${result}]`;
    const sent = `{"model":"${MODEL}","max_tokens":100,"messages":${messages}}`;
    const seen = await ask(sent, { "anthropic-beta": "shiny-2027-01-01" });
    expect(seen.status, JSON.stringify(seen.message)).toBe(200);
    expect(vendor.asked[0]?.text).toContain(input);
  });

  it("passes the betas that the agent sends today", async () => {
    vendor.answers({ body: WHOLE });
    const { headers } = JSON.parse(readFileSync("test/fixtures/claude-code/turn-1.json", "utf8")) as {
      headers: Record<string, string>;
    };
    const seen = await ask(HELLO, { "anthropic-beta": headers["anthropic-beta"] ?? "" });
    expect(vendor.asked[0]?.headers["anthropic-beta"]).toBe(headers["anthropic-beta"]);
    expect(seen.headers.get("x-tollgate-dropped")).toBeNull();
  });

  it("keeps a budget for thinking below the bound on output", async () => {
    vendor.answers({ body: WHOLE });
    await ask({ ...HELLO, max_tokens: 2_000, thinking: { type: "enabled", budget_tokens: 5_000 } });
    expect(vendor.asked[0]?.body).toMatchObject({
      max_tokens: 2_000,
      thinking: { type: "enabled", budget_tokens: 1_999 },
    });
    await ask({ ...HELLO, max_tokens: 500, thinking: { type: "enabled", budget_tokens: 5_000 } });
    expect(vendor.asked[1]?.body).toMatchObject({ max_tokens: 500, thinking: { type: "disabled" } });
  });

  it("never holds a seal of ours: a thought of another vendor's is left out", async () => {
    vendor.answers({ body: WHOLE });
    const content = [
      { type: "thinking", thinking: "by another", signature: "tgs0_" },
      { type: "redacted_thinking", data: "tgs1_AAAA" },
      { type: "text", text: "so" },
    ];
    await ask({ ...HELLO, messages: [...HELLO.messages, { role: "assistant", content }, ...HELLO.messages] });
    const opened = { role: "assistant", content: [{ type: "text", text: "so" }] };
    expect(vendor.asked[0]?.body).toMatchObject({ messages: [HELLO.messages[0], opened, HELLO.messages[0]] });
  });
});

describe("what comes back", () => {
  it("whole: the vendor's message under our names, with three buckets and the cost", async () => {
    vendor.answers({ body: WHOLE });
    const { message, headers } = await ask(HELLO);
    expect(message).toMatchObject({ ...WHOLE, id: expect.stringMatching(/^msg_/), model: MODEL, usage: WHOLE.usage });
    expect(message.id).not.toBe("msg_vendors");
    // 7 at 5 USD a million, 20 writes at 6.25, 300 reads at 0.5, 5 of output at 25.
    expect(message.usage.cost).toBeCloseTo(0.000_435, 12);
    expect(Number(headers.get("x-tollgate-cost-usd"))).toBe(message.usage.cost);
    expect(headers.get("request-id")).toBe(headers.get("x-request-id"));
  });

  it("streamed: the vendor's events, those that nobody knows among them", async () => {
    const strange = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "!" }, more: 1 };
    streams(events(START, ...TEXT.slice(0, 4), strange, ...TEXT.slice(4), ...END));
    const seen = await ask({ ...HELLO, stream: true });
    expect(seen.text).toBe('Hello "you"\n!');
    expect(seen.message).toMatchObject({ model: MODEL, stop_reason: "end_turn", usage: { output_tokens: 9 } });
    expect(seen.message.usage).toMatchObject({ cache_read_input_tokens: 300, cache_creation_input_tokens: 20 });
    expect(seen.message.usage.cost).toBeCloseTo(0.000_535, 12);
    expect(seen.events).toContain("ping");
  });

  it("streamed: a call's input flows as it comes, and a signature passes as it is", async () => {
    const call = { type: "tool_use", id: "toolu_1", name: "f", input: {} };
    const delta = (index: number, one: Record<string, unknown>) => ({ type: "content_block_delta", index, delta: one });
    streams(
      events(
        START,
        { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
        delta(0, { type: "thinking_delta", thinking: "hm" }),
        delta(0, { type: "signature_delta", signature: "c2lnbmVk" }),
        { type: "content_block_stop", index: 0 },
        { type: "content_block_start", index: 1, content_block: call },
        delta(1, { type: "input_json_delta", partial_json: '{"a":' }),
        delta(1, { type: "input_json_delta", partial_json: "1.0}" }),
        { type: "content_block_stop", index: 1 },
        { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
        { type: "message_stop" },
      ),
    );
    const { message, events: seen } = await ask({ ...HELLO, stream: true });
    expect(message.content).toEqual([
      { type: "thinking", thinking: "hm", signature: "c2lnbmVk" },
      { ...call, input: { a: 1 } },
    ]);
    expect(seen.filter((type) => type === "content_block_delta")).toHaveLength(4);
  });

  it("an upstream that sends its events in any pieces", async () => {
    const text = events(START, ...TEXT, ...END);
    vendor.answers((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      let at = 0;
      const more = () => {
        if (at >= text.length) return response.end();
        response.write(text.slice(at, at + 7), () => setImmediate(more));
        at += 7;
      };
      more();
    });
    expect((await ask({ ...HELLO, stream: true })).text).toBe('Hello "you"\n');
  });

  it.each([
    [
      "an error in the middle",
      events(START, ...TEXT, { type: "error", error: { type: "overloaded_error", message: "x" } }),
    ],
    ["a stream that just stops", events(START, ...TEXT)],
  ])("%s is an error in the stream, never an end, and free", async (_, text) => {
    streams(text);
    const seen = await ask({ ...HELLO, stream: true });
    expect(seen.error).toMatchObject({ type: "error", error: { type: expect.any(String), code: "upstream_error" } });
    expect(seen.error?.request_id).toBe(seen.headers.get("request-id"));
    const { outcome } = await gateway.record(seen.headers.get("request-id"));
    expect(outcome).toBe("broken");
  });

  it.each([
    ["an error before content", events(START, { type: "error", error: { type: "overloaded_error", message: "x" } })],
    ["nothing at all", ""],
    ["an empty answer", events(START, ...END)],
  ])("%s goes to another vendor, unseen", async (_, text) => {
    const chat = [
      { choices: [{ index: 0, delta: { role: "assistant", content: "from the other" } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { choices: [], usage: { prompt_tokens: 5, completion_tokens: 3 } },
    ];
    vendor.answers((response, { url }) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const done = `${chat.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
      response.end(url.startsWith("/anthropic") ? text : done);
    });
    const seen = await ask({ ...HELLO, models: [OTHER], stream: true });
    expect(seen.text).toBe("from the other");
    expect(seen.message).toMatchObject({ model: OTHER, stop_reason: "end_turn", usage: { output_tokens: 3 } });
    expect(seen.events.filter((type) => type === "message_start")).toHaveLength(1);
  });
});

describe("what a vendor refuses", () => {
  const refusal = (type: string, message: string) => ({ type: "error", error: { type, message } });
  it.each([
    [
      400,
      "invalid_request_error",
      "prompt is too long: 250001 tokens > 200000 maximum",
      /^prompt is too long: 250001 tokens > 200000 maximum$/,
    ],
    [
      400,
      "invalid_request_error",
      "messages.1.content.0: Invalid `signature` in `thinking` block",
      /Invalid `signature` in `thinking` block/,
    ],
  ])("%d %s is told in words that clients know", async (status, type, message, told) => {
    vendor.answers({ status, body: refusal(type, message) });
    const seen = await ask(HELLO);
    expect(seen.status).toBe(400);
    expect(seen.message).toMatchObject({ type: "error", error: { type, message: expect.stringMatching(told) } });
  });

  it("tells a prompt that is too long in the same words, whoever found it so", async () => {
    const message =
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens.";
    vendor.answers({
      status: 400,
      body: { error: { message, type: "invalid_request_error", code: "context_length_exceeded" } },
    });
    const seen = await ask({ ...HELLO, model: OTHER });
    expect(seen.message).toMatchObject({ error: { message: "prompt is too long: 130001 tokens > 128000 maximum" } });
  });
});

describe("what is not sold", () => {
  const said = (block: Record<string, unknown>) => ({ messages: [{ role: "user", content: [block] }] });
  const hour = { cache_control: { type: "ephemeral", ttl: "1h" } };
  it.each([
    ["a cache of an hour", said({ type: "text", text: "a", ...hour }), "messages.0.content.0.cache_control.ttl"],
    ["a cache of an hour where nobody looks", { new_field: { deep: [hour] } }, "new_field.deep.0.cache_control.ttl"],
    ["searches of the vendor's", { tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools.0.type"],
    [
      "searches of the vendor's that come with a turn",
      {
        messages: [
          { role: "user", content: "a" },
          {
            role: "system",
            content: [{ type: "tool_addition", tool: { type: "web_search_20250305", name: "web_search" } }],
          },
        ],
      },
      "messages.1.content.0.tool.type",
    ],
    ["faster processing", { speed: "fast" }, "speed"],
    ["another region", { inference_geo: "us" }, "inference_geo"],
    ["containers", { container: "c_1" }, "container"],
    ["remote tools", { mcp_servers: [{ type: "url", url: "https://x", name: "x" }] }, "mcp_servers"],
    [
      "compaction",
      { context_management: { edits: [{ type: "compact_20260112" }] } },
      "context_management.edits.0.type",
    ],
    [
      "files that the vendor keeps",
      said({ type: "image", source: { type: "file", file_id: "f" } }),
      "messages.0.content.0.source.type",
    ],
    ["somebody's threads", { thread: { id: "t" } }, "thread"],
    ["fallbacks of the vendor's", { fallbacks: [{ model: "m" }] }, "fallbacks"],
  ])("%s", async (_, more, param) => {
    vendor.answers({ body: WHOLE });
    const seen = await ask({ ...HELLO, ...more });
    expect(seen.message).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", code: "unsupported_field", param },
    });
    expect(seen.headers.get("x-should-retry")).toBe("false");
    expect(vendor.asked).toHaveLength(0);
  });

  it("threads, in words by which clients go on without them", async () => {
    const seen = await ask(
      { ...HELLO, thread: { type: "create" } },
      { "anthropic-beta": "message-threads-2026-08-12" },
    );
    expect(seen.status).toBe(400);
    expect(seen.message).toMatchObject({ error: { details: { error_code: "thread_unsupported_request" } } });
  });

  it("a body in which a field is there twice: each reader might believe another", async () => {
    const twice = JSON.stringify(HELLO).replace('"content":"Hi"', '"content":"Hi","content":"Ho"');
    const seen = await ask(twice);
    expect([seen.status, vendor.asked.length]).toEqual([400, 0]);
    expect(seen.message).toMatchObject({ error: { message: expect.stringContaining("twice") } });
  });

  it("betas that cost, in words by which clients leave them out", async () => {
    const seen = await ask(HELLO, { "anthropic-beta": "effort-2025-11-24, context-1m-2025-08-07" });
    const message = "capability_rejected: beta_header:context-1m-2025-08-07";
    expect(seen.message).toMatchObject({ error: { type: "invalid_request_error", message } });
    expect([seen.status, vendor.asked.length]).toEqual([400, 0]);
  });

  it("versions of the wire that nobody knows", async () => {
    const seen = await ask(HELLO, { "anthropic-version": "2022-01-01" });
    expect([seen.status, seen.message.type]).toEqual([400, "error"]);
  });

  it("documents in what a tool of the vendor's found, for the price of their bytes", async () => {
    vendor.answers({ body: WHOLE });
    const found = (source: Record<string, unknown>) => [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_fetch", input: { url: "https://example.com/a" } },
      {
        type: "web_fetch_tool_result",
        tool_use_id: "srvtoolu_1",
        content: { type: "web_fetch_result", url: "https://example.com/a", content: { type: "document", source } },
      },
    ];
    const turns = (source: Record<string, unknown>) => ({
      ...HELLO,
      max_cost_cents: 10,
      messages: [...HELLO.messages, { role: "assistant", content: found(source) }, ...HELLO.messages],
    });
    const text = await ask(turns({ type: "text", media_type: "text/plain", data: "a page" }));
    expect(text.status, JSON.stringify(text.message)).toBe(200);
    const data = Buffer.from("%PDF-1.4").toString("base64");
    const pdf = await ask(turns({ type: "base64", media_type: "application/pdf", data }));
    expect(pdf.message).toMatchObject({ error: { code: "max_cost_exceeded" } });
    const linked = await ask(turns({ type: "url", url: "https://example.com/a.pdf" }));
    expect(linked.message).toMatchObject({ error: { code: "max_cost_exceeded" } });
    expect(vendor.asked).toHaveLength(1);
  });
});

describe("what the vendor counts and nobody has priced", () => {
  const passes = [
    { type: "advisor_message", input_tokens: 1_000, output_tokens: 200 },
    {
      type: "message",
      input_tokens: 7,
      cache_read_input_tokens: 300,
      cache_creation_input_tokens: 20,
      output_tokens: 5,
    },
  ];
  const usage = { ...WHOLE.usage, iterations: passes, server_tool_use: { web_search_requests: 2 } };
  const counted = async (counter: string) => {
    const { text } = await fetched("/metrics");
    const line = new RegExp(`^tollgate_unpriced_usage_total\\{[^}]*counter="${counter}"[^}]*\\} (\\d+)$`, "m");
    return Number(line.exec(text)?.[1] ?? 0);
  };
  const fetched = async (path: string) => {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    return { text: await (await fetch(`${gateway.adminUrl}${path}`, { headers })).text() };
  };
  const warned = () => gateway.lines().filter((line) => line.includes("no price here"));

  it.each([false, true])("is charged as far as it is tokens, counted, and told once (stream: %s)", async (stream) => {
    const before = [await counted("iterations"), await counted("server_tool_use")];
    if (stream) streams(events(START, ...TEXT, { ...END[0], type: "message_delta", usage }, { type: "message_stop" }));
    else vendor.answers({ body: { ...WHOLE, usage } });
    const { message } = await ask({ ...HELLO, stream, max_tokens: 1_000 });
    expect(message.usage).toMatchObject({ input_tokens: 1_007, cache_read_input_tokens: 300, output_tokens: 205 });
    // $5 and $25 per million in and out, a tenth of the input price for cache reads, a quarter more for cache writes.
    expect(message.usage.cost).toBeGreaterThan((1_007 * 5 + 205 * 25) / 1e6);
    expect([await counted("iterations"), await counted("server_tool_use")]).toEqual(before.map((count) => count + 1));
    expect(warned()).toHaveLength(2);
  });

  it("is nothing where all counters are zero and the one pass is the answer", async () => {
    const before = await counted("server_tool_use");
    vendor.answers({ body: { ...WHOLE, usage: { ...usage, iterations: passes.slice(1), server_tool_use: { n: 0 } } } });
    const { message } = await ask(HELLO);
    expect(message.usage).toMatchObject({ input_tokens: 7, output_tokens: 5 });
    expect(await counted("server_tool_use")).toBe(before);
  });

  it("a seal that does not open is left out, and counted", async () => {
    const unopened = async () =>
      Number(/^tollgate_seals_unopened_total\{\} (\d+)$/m.exec((await fetched("/metrics")).text)?.[1] ?? 0);
    const before = await unopened();
    vendor.answers({ body: WHOLE });
    const content = [
      { type: "redacted_thinking", data: `tgs1_${"A".repeat(100)}` },
      { type: "text", text: "so" },
    ];
    const messages = [...HELLO.messages, { role: "assistant", content }, { role: "user", content: "and?" }];
    expect((await ask({ ...HELLO, messages })).status).toBe(200);
    expect(await unopened()).toBe(before + 1);
  });
});

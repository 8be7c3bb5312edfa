// Content in spans with OTEL_CAPTURE_CONTENT=1: in every wire, whole and streamed, redacted, truncated; and what they leave out.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { Collector } from "../../support/otel-collector.ts";

type Json = Record<string, unknown>;

const collector = new Collector();
let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await startTestGateway({
    OTEL_EXPORTER_OTLP_ENDPOINT: await collector.open(),
    OTEL_BSP_SCHEDULE_DELAY: "1",
    OTEL_CAPTURE_CONTENT: "1",
    REQUEST_LOG_REDACT: "cards,field:ssn",
  });
  account = await gateway.account();
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  collector.close();
  expect(findings).toEqual([]);
});

async function post(path: string, body: Json, { key } = account) {
  const response = await postAs(key, `${gateway.url}/api/llm${path}`, body);
  const answer = await response.text();
  const span = await collector.of(response.headers.get("x-request-id"));
  return { answer, attributes: span.attributes, requestId: String(response.headers.get("x-request-id")) };
}

const read = (attributes: Json, name: string) =>
  attributes[name] === undefined ? undefined : (JSON.parse(String(attributes[name])) as Json[]);
const input = (attributes: Json) => read(attributes, "gen_ai.input.messages");
const output = (attributes: Json) => read(attributes, "gen_ai.output.messages");
const instructions = (attributes: Json) => read(attributes, "gen_ai.system_instructions");

const text = (content: string) => ({ type: "text", content });
const SAY = "[[say: one two three]]";
const ASKED = { role: "user", parts: [text(SAY)] };
const SAID = { role: "assistant", parts: [text("one two three")], finish_reason: "stop" };
const contents = [{ role: "user", parts: [{ text: SAY }] }];
const gemini = { systemInstruction: { parts: [{ text: "Be brief" }] }, contents };

describe("what is asked and answered stands in the span", () => {
  const messages = [{ role: "user", content: SAY }];
  it.each([
    ["chat", "/v1/chat/completions", { messages }],
    ["chat, streamed", "/v1/chat/completions", { messages, stream: true }],
    ["messages", "/v1/messages", { system: "Be brief", messages, max_tokens: 90 }],
    ["messages, streamed", "/v1/messages", { system: "Be brief", messages, max_tokens: 90, stream: true }],
    ["responses", "/v1/responses", { instructions: "Be brief", input: SAY }],
    ["responses, streamed", "/v1/responses", { instructions: "Be brief", input: SAY, stream: true }],
    ["generateContent", "/v1beta/models/sandbox/ok:generateContent", gemini],
    ["streamGenerateContent, events", "/v1beta/models/sandbox/ok:streamGenerateContent?alt=sse", gemini],
    ["streamGenerateContent, a list", "/v1beta/models/sandbox/ok:streamGenerateContent", gemini],
  ])("in %s", async (name, path, body: Json) => {
    const { attributes } = await post(path, path.startsWith("/v1beta") ? body : { model: "sandbox/ok", ...body });
    expect(input(attributes)).toEqual([ASKED]);
    expect(instructions(attributes)).toEqual(name.startsWith("chat") ? undefined : [text("Be brief")]);
    expect(output(attributes)).toEqual([SAID]);
    expect(attributes["gen_ai.response.finish_reasons"]).toEqual(["stop"]);
    expect(attributes).not.toHaveProperty("tollgate.content_cut");
  });

  it("calls of tools, their results, instructions within the conversation, and where files are", async () => {
    const messages = [
      { role: "system", content: "Be brief" },
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "find", arguments: '{"ssn": 12, "q": "x"}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "nothing" },
      { role: "user", content: '[[call: find {"ssn": 13, "q": "y"}]]' },
    ];
    const parameters = { type: "object", properties: { q: { type: "string" }, ssn: { type: "number" } } };
    const tools = [{ type: "function", function: { name: "find", parameters } }];
    for (const stream of [false, true]) {
      const { attributes } = await post("/v1/chat/completions", { model: "sandbox/ok", messages, tools, stream });
      expect(input(attributes)?.slice(0, 4)).toEqual([
        { role: "system", parts: [text("Be brief")] },
        {
          role: "user",
          parts: [text("Look"), { type: "blob", modality: "image", mime_type: "image/png", content: "" }],
        },
        {
          role: "assistant",
          parts: [{ type: "tool_call", id: "call_1", name: "find", arguments: { ssn: "[redacted]", q: "x" } }],
        },
        { role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response: "nothing" }] },
      ]);
      expect(output(attributes)).toMatchObject([
        {
          parts: [{ type: "tool_call", name: "find", arguments: { ssn: "[redacted]", q: "y" } }],
          finish_reason: "tool_call",
        },
      ]);
    }
  });

  it("a stream that broke as far as it came, and as broken", async () => {
    const { attributes } = await post("/v1/chat/completions", {
      model: "sandbox/cut-after-2",
      messages: [{ role: "user", content: SAY }],
      stream: true,
    });
    expect(output(attributes)).toEqual([{ role: "assistant", parts: [text("one two")], finish_reason: "error" }]);
  });
});

describe("what is to be taken out", () => {
  it("is, though a stream tells it in pieces; its caller has it whole, and the request log is served by the same copy", async () => {
    const own = await gateway.account();
    await gateway.admin("PUT", `/admin/v1/accounts/${own.accountId}/request-log`, { enabled: true });
    const card = "4111 1111 1111 1111";
    const messages = [{ role: "user", content: `[[say: it is ${card} ok]]` }];
    const body = { model: "sandbox/ok", messages, stream: true };
    const { answer, attributes, requestId } = await post("/v1/chat/completions", body, own);
    expect(answer).not.toContain(card);
    expect(answer.match(/"content":" ?(\d{4})"/g)).toHaveLength(4);
    expect(input(attributes)).toEqual([{ role: "user", parts: [text("[[say: it is [redacted] ok]]")] }]);
    expect(output(attributes)).toMatchObject([{ parts: [text("it is [redacted] ok")] }]);
    const { json } = await gateway.admin("GET", `/admin/v1/request-log/${requestId}`);
    expect(String(json.body)).toContain("it is [redacted] ok");
  });

  it("goes into no log line", () => {
    expect(gateway.lines().join("")).not.toContain("one two");
    expect(gateway.lines().join("")).not.toContain("1111 1111");
  });
});

describe("what is long", () => {
  const told = async (messages: readonly Json[]) => {
    const { attributes } = await post("/v1/chat/completions", { model: "sandbox/ok", messages });
    expect(String(attributes["gen_ai.input.messages"]).length).toBeLessThanOrEqual(32 * 1024);
    expect(attributes["tollgate.content_cut"]).toBe(true);
    return input(attributes) ?? [];
  };

  it("loses its oldest messages", async () => {
    const many = Array.from({ length: 99 }, (_, at) => ({ role: "user", content: `${at} ${"x".repeat(4_000)}` }));
    const kept = await told([...many, { role: "user", content: SAY }]);
    expect(kept.at(-1)).toEqual(ASKED);
    expect(kept.length).toBe(9);
  });

  it("loses the end of a text, never half of what should be taken out of it", async () => {
    const content = `${"y ".repeat(50_000)}`;
    const [message] = await told([{ role: "user", content }]);
    expect(message).toEqual({ role: "user", parts: [text(content.slice(0, 24 * 1024))] });
    const cards = "4111 1111 1111 1111 , ".repeat(5_000);
    expect(JSON.stringify(await told([{ role: "user", content: cards }]))).not.toContain("1111");
  });

  it("is left out where it is too long to be looked through", async () => {
    expect(await told([{ role: "user", content: "z ".repeat(200_000) }])).toEqual([]);
  });

  it("has its end, where an answer of many events is longer than the log would keep", async () => {
    const { answer, attributes } = await post("/v1/chat/completions", {
      model: "sandbox/ok-at-100000",
      messages: [{ role: "user", content: "[[words: 3000]]" }],
      max_tokens: 4_000,
      stream: true,
    });
    expect(answer.length).toBeGreaterThan(256 * 1024);
    expect(attributes["gen_ai.response.finish_reasons"]).toEqual(["stop"]);
    expect(output(attributes)).toHaveLength(1);
  });
});

describe("no content", () => {
  it("stands in the span of a call that was refused, or that asked for an action", async () => {
    const refused = await post("/v1/chat/completions", {
      model: "no/such",
      messages: [{ role: "user", content: SAY }],
    });
    const response = await postAs(account.key, `${gateway.url}/api/run/brave/news`, { q: "one two three" });
    const action = await collector.of(response.headers.get("x-request-id"));
    for (const { attributes } of [refused, action]) expect(Object.keys(attributes).join()).not.toContain("messages");
  });
});

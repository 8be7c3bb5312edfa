// Tool calls over every wire and every dialect, whole and streamed: exact arguments, ids and names that each side accepts, calls and
// results that stay paired.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DialectName } from "../../src/catalog/chat-wire.ts";
import type { AnswerCodec, CallerRequest } from "../../src/core/neutral.ts";
import { hashedName } from "../../src/core/short-name.ts";
import { MODEL_WIRES } from "../../src/models/formats/model-wires.ts";
import { ResponsesCall } from "../../src/models/formats/responses/answers.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { ToolFit } from "../../src/upstream/format-kit/tool-fit.ts";
import type { HeldStream } from "../../src/upstream/held-stream.ts";
import { laneOf } from "../../src/upstream/lane.ts";
import { chatContext } from "../support/dialect-replay.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { type Asked, type Call, resultsIn, TOOL_FORMATS, type ToolFormat } from "../support/tool-wires.ts";
import { startVendor } from "../support/vendor-server.ts";

const NAMES = Object.keys(DIALECTS) as DialectName[];
const ROWS = MODEL_WIRES.flatMap(({ name: wire }) => NAMES.map((dialect) => [wire as DialectName, dialect] as const));

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startTestGateway({
    OVERLAY_DIR: new URL("../fixtures/wires-overlay", import.meta.url).pathname,
    ...Object.fromEntries(
      NAMES.map((dialect) => [`VIA_${dialect.toUpperCase().replaceAll("-", "_")}_BASE_URL`, `${vendor.url}/v1`]),
    ),
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 100_000 });

const PATHS: Readonly<Record<string, (model: string, stream: boolean) => string>> = {
  "generate-content": (model, stream) =>
    `/api/llm/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  "chat-completions": () => "/api/llm/v1/chat/completions",
  messages: () => "/api/llm/v1/messages",
  responses: () => "/api/llm/v1/responses",
};

const WEATHER = { name: "weather", schema: { type: "object", properties: { city: { type: "string" } } } };
const HI: Asked = { turns: [{ user: "Hi" }], tools: [WEATHER] };

async function post(wire: DialectName, dialect: string, asked: Asked, more: Readonly<Record<string, string>> = {}) {
  const model = `via-${dialect}/m`;
  const stream = asked.stream === true;
  const body = TOOL_FORMATS[wire].ask(asked);
  const response = await fetch(gateway.url + (PATHS[wire]?.(model, stream) ?? ""), {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json", ...more },
    // As raw text, because the exact form of numbers is part of the test.
    body: wire === "generate-content" ? body : body.replace("{", `{"model":"${model}",`),
  });
  const text = await response.text();
  expect([response.status, response.status === 200 ? "" : text]).toEqual([200, ""]);
  return { text, sent: vendor.asked.at(-1)?.text ?? "" };
}

interface Said {
  readonly calls: readonly Call[];
  readonly reason?: string;
}

/** The caller's view of a vendor's answer, and the vendor's request before it. */
async function ask(wire: DialectName, dialect: DialectName, asked: Asked, said: Said) {
  const format = TOOL_FORMATS[dialect];
  const answered = { calls: said.calls, reason: said.reason ?? format.words.calls };
  const type = dialect === "converse" ? "application/vnd.amazon.eventstream" : "text/event-stream";
  if (asked.stream) vendor.answers({ headers: { "content-type": type }, body: format.events(answered) });
  else vendor.answers({ body: format.answer(answered) });
  const { text, sent } = await post(wire, dialect, asked);
  const own = TOOL_FORMATS[wire];
  return { ...(asked.stream ? own.streamed(text) : own.told(text)), sent: format.read(sent), text };
}

/** More digits than a number has, different forms of numbers, and keys in an order that no object preserves. */
const ARGS = '{"id":9223372036854775807,"b":1.0,"a":1e3,"2":-0,"1":"\\u00e9 \\"q\\" {"}';
const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const LONG = (end: string) => `mcp__${"x".repeat(60)}__${end}`;

function takes(dialect: DialectName, name: string): boolean {
  return (
    dialect === "messages"
      ? /^[\w-]{1,128}$/
      : dialect === "generate-content"
        ? /^[A-Za-z_][\w.:-]{0,63}$/
        : /^[\w-]{1,64}$/
  ).test(name);
}

/** The calls in a body, each with its result. */
function paired(sent: Omit<Asked, "stream">) {
  const calls = sent.turns.flatMap((turn) => ("calls" in turn ? turn.calls : []));
  return calls.map(({ id, name, args }) => ({
    id,
    name,
    args,
    result: resultsIn(sent.turns).find((one) => one.id === id)?.text,
  }));
}

describe.each(ROWS)("%s asked, %s answers", (wire, dialect) => {
  it.each([false, true])("arguments reach the caller as they were written; streamed: %s", async (stream) => {
    const { calls, reason } = await ask(
      wire,
      dialect,
      { ...HI, stream },
      { calls: [{ id: "call_1", name: "weather", args: ARGS }] },
    );
    expect(calls).toEqual([{ id: "call_1", name: "weather", args: ARGS }]);
    expect(reason).toBe(TOOL_FORMATS[wire].words.calls);
  });

  it("an index of 0 may be left out", async () => {
    const format = TOOL_FORMATS[dialect];
    const type = dialect === "converse" ? "application/vnd.amazon.eventstream" : "text/event-stream";
    const calls = [1, 2].map((n) => ({ id: `call_${n}`, name: "weather", args: `{"n":${n}}` }));
    const body = format.events({ calls, reason: format.words.calls }, true);
    vendor.answers({ headers: { "content-type": type }, body });
    const { text } = await post(wire, dialect, { ...HI, stream: true });
    expect(TOOL_FORMATS[wire].streamed(text).calls).toEqual(calls);
  });

  it("an answer that is kept for its Idempotency-Key is the same to the digit", async () => {
    const calls = [{ id: "call_1", name: "weather", args: ARGS }];
    vendor.answers({ body: TOOL_FORMATS[dialect].answer({ calls, reason: TOOL_FORMATS[dialect].words.calls }) });
    const key = { "idempotency-key": `${wire}-by-${dialect}` };
    const texts = [await post(wire, dialect, HI, key), await post(wire, dialect, HI, key)].map(({ text }) => text);
    expect(texts.map((text) => TOOL_FORMATS[wire].told(text).calls)).toEqual([calls, calls]);
    expect(vendor.asked).toHaveLength(1);
  });

  it.each([false, true])("odd ids become valid ones of their own, turn after turn; streamed: %s", async (stream) => {
    const odd = ["list_dir:0", "list_dir:0", 17, "", undefined, null, "x".repeat(70)];
    const said = { calls: odd.map((id) => ({ id, name: "weather", args: "{}" })) };
    const first = await ask(wire, dialect, { ...HI, stream }, said);
    const ids = first.calls.map(({ id }) => id);
    expect(ids.filter((id) => !ID.test(String(id)))).toEqual([]);
    const turns = [...HI.turns, { calls: first.calls }, { results: ids.map((id) => ({ id, text: `of ${id}` })) }];
    const second = await ask(wire, dialect, { ...HI, stream, turns }, said);
    const all = [...ids, ...second.calls.map(({ id }) => id)];
    expect(new Set(all).size).toBe(2 * odd.length);
    const sent = paired(second.sent);
    expect(sent.map(({ result }) => result)).toEqual(ids.map((id) => `of ${id}`));
    expect(new Set(sent.map(({ id }) => id)).size).toBe(odd.length);
  });

  it.each([false, true])("calls beside a plain stop are calls; streamed: %s", async (stream) => {
    const { stop } = TOOL_FORMATS[dialect].words;
    const { reason } = await ask(
      wire,
      dialect,
      { ...HI, stream },
      { calls: [{ id: "call_1", name: "weather", args: "{}" }], reason: stop },
    );
    expect(reason).toBe(TOOL_FORMATS[wire].words.calls);
  });

  it("a history goes out to the digit, with ids that the vendor takes, each once, and results with their calls", async () => {
    const turn = (id: string, n: number): Asked["turns"] => [
      { calls: [{ id, name: "weather", args: ARGS }] },
      { results: [{ id, text: `result ${n}` }] },
    ];
    const ids = ["call_0", "call_0", "functions.Bash:0", "functions_Bash_0", "y".repeat(70), `${"y".repeat(69)}z`];
    const turns = [{ user: "Hi" }, ...ids.flatMap(turn), { user: "And?" }];
    const { sent } = await ask(
      wire,
      dialect,
      { ...HI, turns },
      { calls: [{ id: "call_9", name: "weather", args: "{}" }] },
    );
    const calls = paired(sent);
    expect(calls.map(({ args, result }) => [args, result])).toEqual(ids.map((_, n) => [ARGS, `result ${n}`]));
    expect(new Set(calls.map(({ id }) => id)).size).toBe(ids.length);
    const rule = dialect === "messages" || dialect === "converse" ? ID : /^.{1,64}$/;
    expect(calls.map(({ id }) => String(id)).filter((id) => !rule.test(id))).toEqual([]);
  });

  it.each([false, true])("names that the vendor does not take come back as they were; streamed: %s", async (stream) => {
    const names = [LONG("a"), LONG("b"), "mcp.server/tool", "weather"];
    const tools = names.map((name) => ({ ...WEATHER, name }));
    const turns: Asked["turns"] = [
      { user: "Hi" },
      { calls: [{ id: "call_1", name: names[0] ?? "", args: "{}" }] },
      { results: [{ id: "call_1", text: "ok" }] },
    ];
    const asked = { turns, tools, forced: LONG("b"), stream };
    const { sent } = await ask(wire, dialect, asked, { calls: [{ id: "call_2", name: "weather", args: "{}" }] });
    const fitted = sent.tools.map(({ name }) => name);
    // Where a wire can force one of several tools, it names only that one.
    expect(fitted.filter((name) => !takes(dialect, name))).toEqual([]);
    expect(new Set(fitted).size).toBe(fitted.length);
    expect(fitted).toContain(sent.forced);
    expect(takes(dialect, paired(sent)[0]?.name ?? "")).toBe(true);
    const said = fitted.map((name, n) => ({ id: `call_${n + 3}`, name, args: "{}" }));
    const { calls } = await ask(wire, dialect, asked, { calls: said });
    expect(calls.map(({ name }) => name)).toEqual(fitted.length === names.length ? names : [LONG("b")]);
  });

  it("schemas go out in the form that the vendor takes", async () => {
    const either = {
      type: "object",
      anyOf: [
        { properties: { a: { type: "string" } }, required: ["a"] },
        { properties: { b: { type: "number" } }, required: ["b"] },
      ],
    };
    const tools = [
      { name: "none", schema: {} },
      { name: "bare", schema: { type: "object" } },
      { name: "either", schema: either },
    ];
    const { sent } = await ask(
      wire,
      dialect,
      { ...HI, tools },
      { calls: [{ id: "call_1", name: "none", args: "{}" }] },
    );
    const schemas = sent.tools.map(({ schema }) => schema);
    if (dialect !== "generate-content") expect(schemas.map(({ type }) => type)).toEqual(["object", "object", "object"]);
    if (dialect === "chat-completions" || dialect === "responses")
      expect(schemas.slice(0, 2).map(({ properties }) => properties)).toEqual([{}, {}]);
    if (dialect === "generate-content" || dialect === "chat-completions") return expect(schemas[2]).toEqual(either);
    expect(schemas[2]).toMatchObject({ properties: { a: { type: "string" }, b: { type: "number" } } });
    expect(schemas[2]).not.toHaveProperty("anyOf");
  });
});

describe.each(MODEL_WIRES.map(({ name }) => name as DialectName))(
  "%s asked, a chat vendor with ways of its own",
  (wire) => {
    const sse = (...deltas: unknown[]) => {
      const chunks = deltas.map((delta) => JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] }));
      const end = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
      return [...chunks, end, "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
    };
    const two = { ...HI, tools: [WEATHER, { ...WEATHER, name: "weather_soon" }], stream: true };
    const call = (more: object) => ({ tool_calls: [more] });
    const [A, B] = [
      { name: "weather", args: '{"a":1}' },
      { name: "weather_soon", args: '{"b":2}' },
    ];
    const STREAMS: Readonly<Record<string, string>> = {
      "no index, told apart by id": sse(
        call({ id: "id_a", function: { name: A.name, arguments: "" } }),
        call({ id: "id_a", function: { arguments: '{"a":' } }),
        call({ id: "id_a", function: { arguments: "1}" } }),
        call({ id: "id_b", function: { name: B.name, arguments: '{"b":' } }),
        call({ id: "id_b", function: { arguments: "2}" } }),
      ),
      "no index and no id": sse(
        call({ function: { name: A.name, arguments: '{"a":' } }),
        call({ function: { arguments: "1}" } }),
        call({ function: { name: B.name, arguments: '{"b":2}' } }),
      ),
      "one index for all": sse(
        call({ index: 0, id: "id_a", function: { name: A.name, arguments: '{"a":1}' } }),
        call({ index: 0, id: "id_b", function: { name: B.name, arguments: '{"b":2}' } }),
      ),
      "one index for all and no ids": sse(
        call({ index: 0, id: "", function: { name: A.name, arguments: '{"a":' } }),
        call({ index: 0, id: "", function: { name: A.name, arguments: "1}" } }),
        call({ index: 0, id: "", function: { name: B.name, arguments: '{"b":' } }),
        call({ index: 0, id: "", function: { arguments: "2}" } }),
      ),
      "indices that begin at 1, mixed": sse(
        call({ index: 1, id: "id_a", function: { name: A.name, arguments: '{"a":' } }),
        call({ index: 2, id: "id_b", function: { name: B.name, arguments: '{"b":' } }),
        call({ index: 1, function: { arguments: "1}" } }),
        call({ index: 2, function: { arguments: "2}" } }),
      ),
      "names in pieces, and again with each": sse(
        call({ index: 0, id: "id_a", function: { name: "wea" } }),
        call({ index: 0, function: { name: "ther" } }),
        call({ index: 0, function: { arguments: '{"a":' } }),
        call({ index: 0, function: { name: "weather", arguments: "1}" } }),
        call({ index: 1, id: "id_b", function: { name: "weather" } }),
        call({ index: 1, function: { name: "_soon", arguments: '{"b":2}' } }),
      ),
      "names after arguments": sse(
        call({ index: 0, id: "id_a", function: { arguments: '{"a":' } }),
        call({ index: 0, function: { name: "weather", arguments: "1}" } }),
        call({ index: 1, function: { arguments: '{"b":2}' } }),
        call({ index: 1, id: "id_b", function: { name: "weather_soon" } }),
      ),
      "arguments as objects": sse(
        call({ index: 0, id: "id_a", function: { name: A.name, arguments: { a: 1 } } }),
        call({ index: 1, id: "id_b", function: { name: B.name, arguments: {} } }),
        call({ index: 1, function: { arguments: '{"b":2}' } }),
      ),
    };

    it.each(Object.keys(STREAMS))("%s", async (name) => {
      vendor.answers({ headers: { "content-type": "text/event-stream" }, body: STREAMS[name] });
      const { calls, reason } = TOOL_FORMATS[wire].streamed((await post(wire, "chat-completions", two)).text);
      expect(calls.map(({ name: called, args }) => ({ name: called, args }))).toEqual([A, B]);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      expect(reason).toBe(TOOL_FORMATS[wire].words.calls);
    });

    it("one tool called twice under one index, without ids", async () => {
      const args = ['{"a":"}\\"{"}', "{}"];
      const pieces = args.map((one) => call({ index: 0, function: { name: "weather", arguments: one } }));
      vendor.answers({ headers: { "content-type": "text/event-stream" }, body: sse(...pieces) });
      const { calls } = TOOL_FORMATS[wire].streamed((await post(wire, "chat-completions", two)).text);
      expect(calls.map(({ args: got }) => got)).toEqual(args);
    });

    it("two calls without index, id and arguments, whose names together are a third tool's", async () => {
      const tools = ["a", "ab", "b"].map((name) => ({ ...WEATHER, name }));
      const body = sse(call({ function: { name: "a" } }), call({ function: { name: "b" } }));
      vendor.answers({ headers: { "content-type": "text/event-stream" }, body });
      const { calls } = TOOL_FORMATS[wire].streamed((await post(wire, "chat-completions", { ...two, tools })).text);
      expect(calls.map(({ name }) => name).toSorted()).toEqual(["a", "b"]);
    });

    it.each([null, undefined, {}, ""])("arguments %j of a whole answer are an empty object", async (args) => {
      const tool_calls = [{ id: 17, type: "function", function: { name: "weather", arguments: args } }];
      const message = { role: "assistant", content: null, tool_calls };
      vendor.answers({ body: { choices: [{ index: 0, message, finish_reason: "stop" }] } });
      const { calls, reason } = TOOL_FORMATS[wire].told((await post(wire, "chat-completions", HI)).text);
      expect(calls).toMatchObject([{ id: expect.stringMatching(ID), name: "weather", args: "{}" }]);
      expect(reason).toBe(TOOL_FORMATS[wire].words.calls);
    });

    it("however the pieces are cut, the calls are the same", async () => {
      const text = fc.tuple(fc.string({ minLength: 1, maxLength: 12 }), fc.bigInt({ min: 0n, max: 2n ** 70n }));
      await fc.assert(
        fc.asyncProperty(
          fc.array(text, { minLength: 1, maxLength: 3 }),
          fc.integer({ min: 1, max: 7 }),
          async (said, size) => {
            const args = said.map(([word, n]) => `{${JSON.stringify(word)}:${n}}`);
            const pieces = args.flatMap((one, index) => [
              call({ index, id: `id_${index}`, function: { name: "weather", arguments: "" } }),
              ...(one.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []).map((arguments_) =>
                call({ index, function: { arguments: arguments_ } }),
              ),
            ]);
            vendor.answers({ headers: { "content-type": "text/event-stream" }, body: sse(...pieces) });
            const { calls } = TOOL_FORMATS[wire].streamed(
              (await post(wire, "chat-completions", { ...HI, stream: true })).text,
            );
            expect(calls.map(({ args: got }) => got)).toEqual(args);
          },
        ),
        { numRuns: 20 },
      );
    });
  },
);

describe("passing answers have the caller's names, and what only their wire has", () => {
  const name = "mcp.server/tool";
  const fitted = hashedName(name);
  const usage = { input_tokens: 1, output_tokens: 1 };
  const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: fitted, arguments: "{}", namespace: "n" };
  const custom = { type: "custom_tool_call", id: "ct_1", call_id: "call_2", name: "shell", input: "ls" };
  const echo = { tools: [{ type: "function", name: fitted }], tool_choice: { type: "function", name: fitted } };
  const response = { id: "r", status: "completed", output: [item, custom], usage, ...echo };
  const call = { type: "tool_use", id: "call_1", name: fitted, input: {} };
  const hosted = { type: "server_tool_use", id: "s_1", name: "web_search", input: { query: "x" } };
  const CASES = {
    responses: {
      whole: response,
      events: [
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.function_call_arguments.done", output_index: 0, name: fitted, arguments: "{}" },
        { type: "response.output_item.done", output_index: 1, item: custom },
        { type: "response.completed", response },
      ],
      words: ["custom_tool_call", '"namespace"'],
    },
    messages: {
      whole: { type: "message", role: "assistant", content: [hosted, call], stop_reason: "tool_use", usage },
      events: [hosted, call].map((content_block, index) => ({ type: "content_block_start", index, content_block })),
      words: ["server_tool_use"],
    },
  };

  it.each(["responses", "messages"] as const)("%s", (wire) => {
    const { whole, events, words } = CASES[wire];
    const body = { messages: [], input: [], tools: [{ type: "function", name }] };
    const asked = { wire, body, usesTools: true } as unknown as CallerRequest;
    const options = { store: false, maxOutputTokens: null, seals: false, nowS: () => 0, onSocket: false };
    const { passed } = new ResponsesCall(body, options).answers({ id: "resp_1", createdS: 0, model: "m" });
    const strict = { toolCalls: "strict" } as const;
    const context = chatContext({ wire: strict, passed, tools: new ToolFit(wire, strict) });
    const lane = laneOf(DIALECTS[wire], { asked, answers: {} as AnswerCodec }, context);
    if (typeof lane === "string") throw new Error(lane);
    expect(JSON.stringify(lane.request().body)).toContain(fitted);
    const raw: string[] = [];
    const out = {
      raw: (event: Buffer) => raw.push(String(event)),
      choice() {},
      delivered() {},
      deliveredText() {},
      usage() {},
      end() {},
    };
    const reader = lane.reader(out as unknown as HeldStream);
    for (const event of events) {
      const bytes = Buffer.from(JSON.stringify(event));
      expect(reader.event(bytes, 0, bytes.length, null)).toBe(true);
    }
    const { body: answered } = lane.answer(structuredClone(whole)) as { body?: unknown };
    for (const text of [raw.join(""), JSON.stringify(answered)]) {
      for (const word of [JSON.stringify(name), ...words]) expect(text).toContain(word);
      expect(text).not.toContain(fitted);
    }
  });
});

it("every wire is in the table", () => {
  expect(MODEL_WIRES.map(({ name }) => name).filter((name) => PATHS[name] === undefined)).toEqual([]);
  const formats: Readonly<Record<string, ToolFormat>> = TOOL_FORMATS;
  expect(NAMES.filter((name) => formats[name] === undefined)).toEqual([]);
});

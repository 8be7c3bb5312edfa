// Calls in the responses wire, with a vendor that uses it and with others: what the caller sees, what the vendor receives, what is charged.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";
import { callResponses, type Json, outputOf, typesOf } from "../../support/responses-call.ts";
import { startRecordingVendor } from "./recording-vendor.ts";

/** The same model's vendor on both paths: the first passes bytes on, the others translate. */
const LANES = [
  ["passed", "sandbox-responses"],
  ["translated", "sandbox-messages"],
  ["translated to another", "sandbox-gemini"],
  ["translated to a third", "sandbox-converse"],
  ["translated to OpenAI's other", "sandbox"],
] as const;

const vendor = forFile(await startRecordingVendor());
const gateway = forFile(
  await startTestGateway({
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: `${vendor.url}/openai/v1`,
    ANTHROPIC_API_KEY: "sk-test",
    ANTHROPIC_BASE_URL: `${vendor.url}/anthropic`,
  }),
);
const account = await gateway.account({ creditCents: 100_000 });
const asking = { url: gateway.url, key: account.key };

const RECORDED = JSON.parse(
  readFileSync(new URL("../../fixtures/clients/codex-0.169.json", import.meta.url), "utf8"),
) as Record<string, { body: Json }[]>;

const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const WEATHER = { type: "function", name: "weather", description: "The weather", parameters: CITY };
const EXEC = {
  type: "custom",
  name: "exec",
  description: "Runs a program",
  format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
};
const SPACE = { type: "namespace", name: "multi_agent_v1", description: "Agents", tools: [WEATHER] };

function ask(body: Json, path?: string) {
  return callResponses(asking, body, path);
}

async function balance(): Promise<unknown> {
  const response = await getAs(account.key, `${gateway.url}/api/v1/account`);
  return ((await response.json()) as Json).balance_cents;
}

describe.each(LANES)("%s", (_, adapter) => {
  const model = `${adapter}/ok`;

  it("text: its events in their order, with usage and cost in the last", async () => {
    const { events, response, done, headers } = await ask({ model, input: "[[say: one two]]", stream: true });
    expect(done).toBe(true);
    expect(headers.get("x-tollgate-model")).toBe(model);
    expect(typesOf(events).filter((type) => type !== "output_text.delta")).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    expect(new Set(events.flatMap(({ response: object }) => (object ? [(object as Json).id] : []))).size).toBe(1);
    expect(response).toMatchObject({ status: "completed", model, store: false, error: null, incomplete_details: null });
    expect(response.id).toMatch(/^resp_\w{20,}$/);
    const [message] = outputOf({ response });
    expect(message).toMatchObject({
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "one two" }],
    });
    const usage = response.usage as Json;
    expect(usage.total_tokens).toBe(Number(usage.input_tokens) + Number(usage.output_tokens));
    expect(usage.cost).toBeGreaterThan(0);
  });

  it("tools with names of their own are called by them, whole and streamed, and take their results", async () => {
    for (const [tool, name] of [
      [WEATHER, { type: "function_call", name: "weather" }],
      [EXEC, { type: "custom_tool_call", name: "exec" }],
      [SPACE, { type: "function_call", name: "weather", namespace: "multi_agent_v1" }],
    ] as const) {
      for (const stream of [false, true]) {
        const said = await ask({ model, input: "Go on", tools: [tool], stream });
        const call = outputOf(said).at(-1) as Json;
        expect(call).toMatchObject({ ...name, status: "completed", call_id: expect.stringMatching(/./) });
        expect("namespace" in call).toBe("namespace" in name);
        if (stream) {
          const whole = said.events.filter(({ type }) => String(type).endsWith(".delta")).map(({ delta }) => delta);
          expect(whole.join("")).toBe(tool === EXEC ? call.input : call.arguments);
        }
        const result = { type: `${call.type}_output`, call_id: call.call_id, output: "fine" };
        const input = [{ role: "user", content: "Go on" }, ...outputOf(said), result];
        const next = await ask({ model, input, tools: [tool] });
        expect(next.error).toBeNull();
        expect(outputOf(next).at(-1)).toMatchObject({ type: "message" });
      }
    }
  });

  it("tools that come as an item of the conversation are offered, under their names", async () => {
    const functions = { type: "namespace", name: "functions", description: "Tools", tools: [EXEC] };
    const more = { type: "additional_tools", role: "developer", tools: [functions] };
    const said = await ask({ model, input: [more, { role: "user", content: "Go on" }], stream: true });
    expect(outputOf(said).at(-1)).toMatchObject({ type: "custom_tool_call", name: "exec", namespace: "functions" });
  });

  it("two calls are two items, and neither is within the other", async () => {
    const clock = { ...WEATHER, name: "clock" };
    const said = await ask({ model, input: "[[parallel]] Go on", tools: [WEATHER, clock], stream: true });
    const calls = outputOf(said).filter(({ type }) => type === "function_call");
    expect(calls.map(({ name }) => name)).toEqual(["weather", "clock"]);
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(2);
  });

  it.each(["plain", "lite"])("both turns of a recorded agent, with its tools in their %s form", async (form) => {
    for (const { body } of RECORDED[form] ?? []) {
      // One wire cannot limit its model to one call at a time, and says so.
      const said = await ask({ ...body, model, parallel_tool_calls: true });
      expect([said.error, said.done]).toEqual([null, true]);
      // The gateway serves its web search.
      expect(said.headers.get("x-tollgate-dropped")).toBeNull();
      const last = outputOf(said).findLast(({ type }) => type !== "reasoning");
      if (JSON.stringify(body.input).includes("call_output")) expect(last).toMatchObject({ type: "message" });
      else if (form === "plain") expect(last).toMatchObject({ type: "function_call", name: "exec_command" });
      else expect(last).toMatchObject({ type: "custom_tool_call", name: "exec", namespace: "functions" });
    }
  });

  it("a length stop closes what is open as incomplete, and the answer with it", async () => {
    for (const stream of [false, true]) {
      const { response } = await ask({ model, input: "Tell me all", max_output_tokens: 16, stream });
      expect(response).toMatchObject({
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        completed_at: null,
        max_output_tokens: 16,
      });
      expect((response.usage as Json).output_tokens).toBe(16);
    }
  });

  it("thoughts come as a summary before the answer where they are shown, and sealed where that is asked for", async () => {
    const reasoning = { effort: "medium", summary: "auto" };
    const include = ["reasoning.encrypted_content"];
    const said = await ask({ model, input: "Think", reasoning, include, stream: true });
    const items = outputOf(said);
    expect(items.at(-1)).toMatchObject({ type: "message" });
    // These sign only calls.
    if (adapter === "sandbox" || adapter === "sandbox-gemini") return;
    const [thought] = items;
    expect(thought).toMatchObject({ type: "reasoning", encrypted_content: expect.stringMatching(/^tgs1_/) });
    const next = await ask({
      model,
      input: [{ role: "user", content: "Think" }, ...items, { role: "user", content: "More" }],
      reasoning,
      include,
    });
    expect(next.error).toBeNull();
    // The gateway silently omits thoughts sealed for another account, and forged seals.
    const forged = { ...thought, encrypted_content: "gAAAAA-of-somebody" };
    const input = [{ role: "user", content: "Think" }, forged, items.at(-1), { role: "user", content: "More" }];
    expect((await ask({ model, input, reasoning })).error).toBeNull();
    const other = await gateway.account();
    const elsewhere = await callResponses(
      { url: gateway.url, key: other.key },
      { model, input: [{ role: "user", content: "Think" }, ...items, { role: "user", content: "More" }], reasoning },
    );
    expect(elsewhere.error).toBeNull();
  });

  it("breaks with error and response.failed, and costs nothing", async () => {
    const before = await balance();
    for (const fault of ["cut-after-5", "error-after-5", "cut-clean-after-5"]) {
      const { events, response, done } = await ask({ model: `${adapter}/${fault}`, input: "Tell me", stream: true });
      expect(typesOf(events).slice(-2)).toEqual(["error", "failed"]);
      expect(done).toBe(true);
      expect(events.at(-2)).toMatchObject({ code: "server_error", error: { code: "upstream_error" } });
      expect(response).toMatchObject({ status: "failed", error: { code: "server_error" } });
    }
    expect(await balance()).toBe(before);
  });

  it.each(["crlf", "multiline", "comments", "bytes-1", "usage-every-chunk", "no-usage", "no-done"])(
    "however the vendor writes its events, ours are whole (%s)",
    async (fault) => {
      const { events, response, done } = await ask({
        model: `${adapter}/${fault}`,
        input: "[[say: one \u2028 two]]",
        stream: true,
      });
      expect([done, response.status]).toEqual([true, "completed"]);
      const said = events.filter(({ type }) => type === "response.output_text.delta").map(({ delta }) => delta);
      expect(said.join("")).toBe("one \u2028 two");
      expect(Number((response.usage as Json).output_tokens)).toBeGreaterThan(0);
    },
  );

  it("before its first word another candidate takes over unseen", async () => {
    const models = [`${adapter}/503`, `${adapter}/503`, `${adapter}/empty`, `${adapter}/ok`];
    const { response, headers, events } = await ask({ models, input: "[[say: here]]", stream: true });
    expect(response).toMatchObject({ status: "completed", model });
    expect(headers.get("x-tollgate-attempts")).toMatch(/^[3-6]$/);
    expect(events[0]).toMatchObject({ response: { model } });
  });

  it("hosted tools are left out with a header, and refused where they are forced", async () => {
    const search = { type: "web_search", external_web_access: false };
    const said = await ask({ model, input: "Hello", tools: [search], tool_choice: "auto", parallel_tool_calls: true });
    expect(said.error).toBeNull();
    expect(said.headers.get("x-tollgate-dropped")).toBe("tools.web_search");
    for (const tool_choice of [{ type: "web_search" }, "required"]) {
      const refused = await ask({ model, input: "Hello", tools: [search], tool_choice });
      expect([refused.status, refused.error?.code, refused.error?.param]).toEqual([
        400,
        "unsupported_field",
        "tool_choice",
      ]);
    }
  });
});

it("no tool that a provider runs comes in with an item either", async () => {
  const found = {
    type: "tool_search_output",
    call_id: "c",
    execution: "client",
    tools: [{ type: "web_search" }, WEATHER],
  };
  const { headers } = await ask({ model: "sandbox-responses/ok", input: [{ role: "user", content: "Hello" }, found] });
  expect(headers.get("x-tollgate-dropped")).toBe("tools.web_search");
});

it("what would change the price is refused by its name, and nothing is charged", async () => {
  const before = await balance();
  for (const [field, value] of [
    ["service_tier", "priority"],
    ["reasoning", { mode: "pro" }],
    ["background", true],
    ["conversation", "conv_1"],
    ["prompt", { id: "pmpt_1" }],
    ["prompt_cache_options", { ttl: "12h" }],
    ["prompt_cache_retention", "24h"],
    ["context_management", [{ type: "compaction" }]],
  ] as const) {
    const { status, error } = await ask({ model: "sandbox/ok", input: "Hello", [field]: value });
    expect([status, error?.code]).toEqual([400, "unsupported_field"]);
    expect(error?.param).toMatch(new RegExp(`^${field}`));
  }
  expect(await balance()).toBe(before);
});

it("an answer without a bound may be as long as a quarter of what is free pays for, and says where that is less", async () => {
  const model = "anthropic/claude-opus-5.5";
  const rich = await ask({ model, input: "Hello" });
  expect(rich.headers.get("x-tollgate-max-tokens")).toBeNull();
  // At 20 USD per million tokens, a quarter of two dollars buys 25,000.
  const modest = await gateway.account({ creditCents: 200 });
  const lowered = await callResponses({ url: gateway.url, key: modest.key }, { model, input: "Hello", stream: true });
  expect(lowered.response.status).toBe("completed");
  const bound = Number(lowered.headers.get("x-tollgate-max-tokens"));
  expect(bound).toBeGreaterThanOrEqual(16_384);
  expect(bound).toBeLessThanOrEqual(25_000);
});

it("what is neutral rides, what nobody knows is dropped by name, and an agent's own words about itself silently", async () => {
  const neutral = {
    service_tier: "auto",
    background: false,
    truncation: "disabled",
    prompt_cache_retention: "in_memory",
  };
  const body = { ...neutral, client_metadata: { a: 1 }, shiny: true, include: [], store: null, metadata: { a: "b" } };
  const { status, headers, response } = await ask({ model: "sandbox/ok", input: "Hello", ...body });
  expect([status, headers.get("x-tollgate-dropped")]).toEqual([200, "shiny"]);
  expect(response).toMatchObject({ metadata: { a: "b" }, service_tier: "default", background: false, store: false });
});

it("a bad body is told by its field", async () => {
  for (const [body, param] of [
    [{ model: "sandbox/ok" }, "input"],
    [{ model: "sandbox/ok", input: [] }, "input"],
    [{ model: "sandbox/ok", input: [{ type: "strange" }] }, "input"],
    [
      { model: "sandbox/ok", input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
      "input.0.content.0.file_id",
    ],
    [{ model: "sandbox/ok", input: "Hello", max_output_tokens: 15 }, "max_output_tokens"],
    [{ model: "sandbox/ok", input: [{ type: "item_reference", id: "msg_1" }] }, "input.0.id"],
    [
      { model: "sandbox/ok", input: [{ type: "configuration_update", reasoning: { mode: "pro" } }] },
      "input.0.reasoning.mode",
    ],
    [{ input: "Hello" }, "model"],
  ] as const) {
    const { status, error } = await ask(body as Json);
    expect([status, error?.param, JSON.stringify(body)]).toEqual([400, param, JSON.stringify(body)]);
  }
});

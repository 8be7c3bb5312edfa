// The responses wire alone: errors of other implementations, case by case, from neutral events to the wire's events.
import { describe, expect, test } from "vitest";
import type {
  AnswerBlock,
  FinishReason,
  NeutralEvent,
  NeutralRequest,
  ReasoningBlock,
} from "../../../src/core/neutral.ts";
import { ResponsesCall } from "../../../src/models/formats/responses/answers.ts";
import type { ResponsesBody } from "../../../src/models/formats/responses/fields.ts";
import { responsesRequest } from "../../../src/models/formats/responses/request.ts";
import { eventsOf, expectOrder, expectResponse, type Json, typesOf } from "../../support/responses-call.ts";

const HEAD = { id: "resp_abc", createdS: 1, model: "maker/model" };
const NS = "a_namespace_of_an_agent";
const LONG = "a_tool_whose_name_is_so_long_that_both_do_not_fit_into_a_name";

const body = (fields: Partial<ResponsesBody> = {}): ResponsesBody => ({ input: "Hello", ...fields });

function codecOf(fields?: Partial<ResponsesBody>) {
  const call = new ResponsesCall(body(fields), {
    store: false,
    maxOutputTokens: null,
    seals: true,
    nowS: () => 2,
    onSocket: false,
  });
  return call.answers(HEAD);
}

const begin = { kind: "begin", choice: 0 } as const;
const text = (said: string): NeutralEvent => ({ kind: "text", choice: 0, text: said });
const think = (said: string): NeutralEvent => ({ kind: "reasoning", choice: 0, text: said });
const finish = (reason: FinishReason): NeutralEvent => ({ kind: "finish", choice: 0, reason, native: reason });
const args = (at: number, said: string): NeutralEvent => ({ kind: "tool-arguments", choice: 0, at, text: said });
const call = (at: number, name = "weather", said = ""): NeutralEvent => ({
  kind: "tool-call",
  choice: 0,
  at,
  id: `call_${at}`,
  name,
  arguments: said,
});
const sealed = (told: string): ReasoningBlock => ({
  kind: "reasoning",
  text: "",
  format: null,
  signature: null,
  sealed: told,
  callId: null,
});

/** The wire's events for these, each validated, and the object of the last one. */
function streamed(events: readonly NeutralEvent[], fields?: Partial<ResponsesBody>) {
  const encoder = codecOf(fields).encoder();
  const bytes = events.map((event) => encoder.encode(event).toString()).join("");
  const told = eventsOf(bytes).events;
  expectOrder(told);
  const response = told.at(-1)?.response as Json;
  return { told, types: typesOf(told), response, output: response.output as Json[] };
}

function whole(blocks: readonly AnswerBlock[], reason: FinishReason, fields?: Partial<ResponsesBody>): Json[] {
  const answer = codecOf(fields).whole({ choices: [{ index: 0, blocks, reason, native: reason }], usage: null });
  expectResponse(answer);
  return answer.output as Json[];
}

describe("a stream", () => {
  test("tells every item before its deltas, messages too (litellm 22102)", () => {
    const { types } = streamed([begin, text("a"), text("b"), finish("stop")]);
    expect(types).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
  });

  test("ends with an id and the whole output (llm-rosetta 56)", () => {
    const { response } = streamed([begin, text("a"), text("b"), finish("stop")]);
    const content = [{ type: "output_text", text: "ab", annotations: [], logprobs: [] }];
    const message = { id: "msg_abc_0", type: "message", status: "completed", role: "assistant", content };
    expect(response).toMatchObject({ id: "resp_abc", status: "completed", completed_at: 2, output: [message] });
  });

  test("text, two calls, text: four items one after the other, whoever mixes them upstream", () => {
    const mixed = [call(0), call(1), args(1, '{"b"'), args(0, '{"a":1}'), args(1, ":2}")];
    const { output, types } = streamed([begin, text("a"), ...mixed, text("b"), finish("tool_calls")]);
    expect(output.map(({ type }) => type)).toEqual(["message", "function_call", "function_call", "message"]);
    expect(output.flatMap(({ arguments: said }) => said ?? [])).toEqual(['{"a":1}', '{"b":2}']);
    expect(types.at(-1)).toBe("completed");
  });

  test("arguments for a call that has ended are a broken stream, never a normal end", () => {
    expect(() => streamed([begin, call(0), text("a"), args(0, '{"a":1}'), finish("stop")])).toThrow("had ended");
  });

  test("the empty arguments of a call that ended without any are no news", () => {
    const { output, types } = streamed([begin, call(0), text("a"), args(0, "{}"), finish("stop")]);
    expect(output).toMatchObject([{ type: "function_call", arguments: "{}" }, { type: "message" }]);
    expect(types.at(-1)).toBe("completed");
  });

  test("a call without arguments ends as an object without fields", () => {
    const { output, told } = streamed([begin, call(0), finish("tool_calls")]);
    expect(output).toMatchObject([{ arguments: "{}", status: "completed" }]);
    expect(told.filter(({ delta }) => delta !== undefined).map(({ delta }) => delta)).toEqual(["{}"]);
  });

  test("arguments that come with the call arrive (litellm 27144)", () => {
    const { output } = streamed([begin, call(0, "weather", '{"city":"Rome"}'), finish("tool_calls")]);
    expect(output).toMatchObject([{ type: "function_call", arguments: '{"city":"Rome"}', call_id: "call_0" }]);
  });

  test("a length stop inside a thought closes it, and the answer is incomplete", () => {
    const { output, response, types } = streamed([begin, think("so"), finish("length")]);
    expect(types.at(-1)).toBe("incomplete");
    expect(response).toMatchObject({ incomplete_details: { reason: "max_output_tokens" }, completed_at: null });
    expect(output).toMatchObject([{ type: "reasoning", status: "incomplete", summary: [{ text: "so" }] }]);
  });

  test("a length stop inside a call leaves its arguments as they are", () => {
    const { output } = streamed([begin, call(0), args(0, '{"ci'), finish("length")]);
    expect(output).toMatchObject([{ status: "incomplete", arguments: '{"ci' }]);
  });

  test("a refusal is a part of its own", () => {
    const refusal: NeutralEvent = { kind: "refusal", choice: 0, text: "No." };
    const { output } = streamed([begin, text("Well. "), refusal, finish("stop")]);
    expect(output).toMatchObject([{ content: [{ text: "Well. " }, { type: "refusal", refusal: "No." }] }]);
  });

  test("a thought comes before what follows it, with its seal, and is not cut by one that comes late", () => {
    const thought: NeutralEvent = { kind: "thought", choice: 0, at: 0, thought: sealed("s1") };
    const late: NeutralEvent = { kind: "thought", choice: 0, at: 1, thought: sealed("s2") };
    const { output } = streamed([begin, think("so"), thought, text("a"), late, text("b"), finish("stop")]);
    expect(output.map(({ type }) => type)).toEqual(["reasoning", "message", "reasoning"]);
    expect(output.map(({ encrypted_content: seal }) => seal)).toEqual(["s1", undefined, "s2"]);
    expect(output[1]).toMatchObject({ content: [{ text: "ab" }] });
  });

  test("thoughts are not shown to who wants no summary", () => {
    const { output } = streamed([begin, think("so"), text("a"), finish("stop")], { reasoning: { summary: null } });
    expect(output.map(({ type }) => type)).toEqual(["message"]);
  });

  test("each event is one write, in whatever pieces it came, and text of any kind stays what it is", () => {
    const said = '"\\\n\ndata: [DONE]\u2028\u{1f600}';
    const encoder = codecOf().encoder();
    for (const event of [begin, text(said), finish("stop")]) {
      const bytes = encoder.encode(event).toString();
      expect(bytes.endsWith("\n\n")).toBe(true);
      if (event.kind === "text") expect(eventsOf(bytes).events.at(-1)).toMatchObject({ delta: said });
    }
  });
});

describe("names", () => {
  const custom = { type: "custom", name: "exec", description: "Runs" };
  const inner = { type: "function", name: LONG, parameters: { type: "object" } };
  const tools = [{ type: "namespace", name: NS, tools: [inner, custom] }];
  const asked = (fields: Partial<ResponsesBody>): NeutralRequest => responsesRequest(body(fields)).neutral();

  test("of tools in a namespace are flat and short on the way there, and restored on the way back (codex 32318)", () => {
    const [first, second] = asked({ tools }).tools;
    if (first?.kind !== "function" || second?.kind !== "function") throw new Error("functions");
    expect(first.name).toMatch(/^[\w-]{64}$/);
    expect(second.name).toBe(`${NS}__exec`);
    const { output } = streamed(
      [begin, call(0, first.name, "{}"), call(1, second.name, '{"input":"ls\\n"}'), finish("tool_calls")],
      { tools },
    );
    expect(output).toMatchObject([
      { type: "function_call", name: LONG, namespace: NS, arguments: "{}" },
      { type: "custom_tool_call", name: "exec", namespace: NS, input: "ls\n" },
    ]);
    const blocks: AnswerBlock[] = [{ kind: "tool-call", id: "c", name: second.name, arguments: '{"input":"ls"}' }];
    expect(whole(blocks, "tool_calls", { tools })).toMatchObject([{ name: "exec", namespace: NS, input: "ls" }]);
  });

  test("a grammar goes into the description, because no other wire holds a model to one", () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: /a+/" };
    const [tool] = asked({ tools: [{ ...custom, format }] }).tools;
    expect(tool).toMatchObject({ name: "exec", parameters: { required: ["input"] }, strict: false });
    expect(tool?.kind === "function" && tool.description).toContain("start: /a+/");
  });

  test("only allowed tools are offered, and a named one is named as the model knows it", () => {
    const allowed = { type: "allowed_tools", mode: "required", tools: [{ type: "custom", name: "exec" }] };
    const { tools: offered, toolChoice } = asked({ tools, tool_choice: allowed });
    expect(offered.map((tool) => tool.kind === "function" && tool.name)).toEqual([`${NS}__exec`]);
    expect(toolChoice).toEqual({ mode: "required" });
    expect(asked({ tools, tool_choice: { type: "custom", name: "exec" } }).toolChoice).toEqual({
      mode: "named",
      name: `${NS}__exec`,
    });
  });
});

describe("a conversation", () => {
  test("text, call, text of the model's are one turn, and the results another's", () => {
    const input = [
      { type: "message", role: "user", content: "Hi" },
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "tgs1_x" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look" }] },
      { type: "function_call", call_id: "c1", name: "weather", arguments: "{}" },
      { type: "custom_tool_call", call_id: "c2", name: "exec", input: 'say "a"' },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "and wait" }] },
      { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "fine" }] },
      { type: "custom_tool_call_output", call_id: "c2", output: "a" },
      { type: "reasoning", id: "rs_2", summary: [{ type: "summary_text", text: "its own words" }], content: null },
    ];
    const { turns } = responsesRequest(body({ instructions: "Be kind", input })).neutral();
    expect(turns.map(({ role, blocks }) => [role, ...blocks.map(({ kind }) => kind)])).toEqual([
      ["system", "text"],
      ["user", "text"],
      ["assistant", "reasoning", "text", "tool-call", "tool-call", "text"],
      ["user", "tool-result"],
      ["user", "tool-result"],
    ]);
    expect(turns[2]?.blocks[3]).toMatchObject({ name: "exec", arguments: '{"input":"say \\"a\\""}' });
  });

  test("what only its own vendors know is said to be foreign", () => {
    const { turns } = responsesRequest(body({ input: [{ type: "shell_call", call_id: "c" }] })).neutral();
    expect(turns[0]?.blocks).toEqual([{ kind: "foreign", what: "items of type shell_call" }]);
  });
});

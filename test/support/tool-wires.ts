// Tools in each wire and each dialect: a caller's requests, a vendor's answers, and readers of both.

import type { DialectName } from "../../src/catalog/chat-wire.ts";
import { namedFrame } from "../../src/sandbox/eventstream-frame.ts";

type Json = Record<string, unknown>;

export interface Call {
  readonly id?: unknown;
  readonly name: string;
  /** As text. */
  readonly args: string;
}
export type Turn =
  | { readonly user: string }
  | { readonly calls: readonly Call[] }
  | { readonly results: readonly { readonly id: unknown; readonly text: string }[] };
export interface Asked {
  readonly turns: readonly Turn[];
  readonly tools: readonly { readonly name: string; readonly schema: Json }[];
  readonly forced?: string;
  readonly stream?: boolean;
}
export interface Answered {
  readonly calls: readonly Call[];
  readonly reason: unknown;
}

/** Arguments as raw text, cut from the bytes: parsing would change them. */
const MARK = "@@raw@@";
const spliced = (value: unknown) =>
  JSON.stringify(value).replace(/"@@raw@@((?:[^"\\]|\\.)*)"/g, (_, text) => JSON.parse(`"${text}"`));
function cut(text: string, members: readonly string[]): unknown {
  const member = new RegExp(`"(${members.join("|")})":\\{`);
  let left = text;
  let read = "";
  for (let match = member.exec(left); match !== null; match = member.exec(left)) {
    const from = match.index + match[0].length - 1;
    let [depth, to, quoted] = [0, from, false];
    do {
      const char = left[to];
      if (char === "\\") to++;
      else if (char === '"') quoted = !quoted;
      else if (!quoted && char === "{") depth++;
      else if (!quoted && char === "}") depth--;
      to++;
    } while (depth > 0);
    read += `${left.slice(0, from)}${JSON.stringify(left.slice(from, to))}`;
    left = left.slice(to);
  }
  return JSON.parse(read + left);
}
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);
const at = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((one, key) => (one as Json | undefined)?.[key], value);
const raw = (args: string) => MARK + args;

/** A format, seen from both of its sides. */
export interface ToolFormat {
  /** A request's body, without its model. */
  ask(asked: Asked): string;
  /** Reads a request's body. */
  read(text: string): Omit<Asked, "stream">;
  answer(answered: { readonly calls: readonly Call[]; readonly reason: string }): string;
  /** Reads a whole answer. */
  told(text: string): Answered;
  /** The same answer as a stream. */
  events(answered: { readonly calls: readonly Call[]; readonly reason: string }, omitsZero?: boolean): Buffer;
  streamed(text: string): Answered;
  /** Its words for an answer that stopped, and for one that called tools. */
  readonly words: { readonly stop: string; readonly calls: string };
}

const sse = (events: readonly unknown[]) =>
  Buffer.from(
    events
      .map((one) =>
        typeof one === "string" ? `data: ${one}\n\n` : `event: ${(one as Json).type}\ndata: ${spliced(one)}\n\n`,
      )
      .join(""),
  );
const dataOf = (text: string, members: readonly string[] = []): Json[] =>
  text
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data: {"))
    .map((line) => (members.length === 0 ? JSON.parse(line.slice(6)) : cut(line.slice(6), members)) as Json);
/** Some vendors omit zeros. */
const indexOf = (n: number, omitsZero: boolean) => (n === 0 && omitsZero ? undefined : n);
const halves = (text: string) => [text.slice(0, 3), text.slice(3)];
const results = (turns: readonly Turn[]) => turns.flatMap((turn) => ("results" in turn ? turn.results : []));

const chat: ToolFormat = {
  words: { stop: "stop", calls: "tool_calls" },
  ask: ({ turns, tools, forced, stream }) =>
    JSON.stringify({
      messages: turns.flatMap((turn): Json[] => {
        if ("user" in turn) return [{ role: "user", content: turn.user }];
        if ("results" in turn)
          return turn.results.map(({ id, text }) => ({ role: "tool", tool_call_id: id, content: text }));
        const tool_calls = turn.calls.map(({ id, name, args }) => {
          return { id, type: "function", function: { name, arguments: args } };
        });
        return [{ role: "assistant", content: null, tool_calls }];
      }),
      tools: tools.map(({ name, schema }) => ({ type: "function", function: { name, parameters: schema } })),
      ...(forced === undefined ? {} : { tool_choice: { type: "function", function: { name: forced } } }),
      stream,
    }),
  read(text) {
    const body = JSON.parse(text) as Json;
    const turns = list(body.messages).flatMap((one): Turn[] => {
      if (one.role === "tool") return [{ results: [{ id: one.tool_call_id, text: String(one.content) }] }];
      const calls = list(one.tool_calls).map((call) => {
        return {
          id: call.id,
          name: String(at(call, "function", "name")),
          args: String(at(call, "function", "arguments")),
        };
      });
      return calls.length === 0 ? [] : [{ calls }];
    });
    const tools = list(body.tools).map((tool) => {
      return { name: String(at(tool, "function", "name")), schema: at(tool, "function", "parameters") as Json };
    });
    return { turns, tools, forced: at(body, "tool_choice", "function", "name") as string };
  },
  answer: ({ calls, reason }) => {
    const tool_calls = calls.map(({ id, name, args }) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    }));
    const message = { role: "assistant", content: null, tool_calls };
    return JSON.stringify({
      choices: [{ index: 0, message, finish_reason: reason }],
      usage: { prompt_tokens: 9, completion_tokens: 9 },
    });
  },
  told(text) {
    const choice = at(JSON.parse(text), "choices", 0);
    const calls = list(at(choice, "message", "tool_calls")).map((call) => {
      return {
        id: call.id,
        name: String(at(call, "function", "name")),
        args: String(at(call, "function", "arguments")),
      };
    });
    return { calls, reason: at(choice, "finish_reason") };
  },
  events: ({ calls, reason }) => {
    const chunk = (delta: unknown, finish_reason: string | null = null) => ({
      choices: [{ index: 0, delta, finish_reason }],
    });
    const pieces = calls.flatMap(({ id, name, args }, index) => [
      chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
      ...halves(args).map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]);
    const events = [chunk({ role: "assistant", content: "" }), ...pieces, chunk({}, reason)];
    return sse([...events.map((one) => JSON.stringify(one)), "[DONE]"]);
  },
  streamed(text) {
    const calls: { id: unknown; name: string; args: string }[] = [];
    let reason: unknown = null;
    for (const chunk of dataOf(text)) {
      const choice = at(chunk, "choices", 0) as Json | undefined;
      reason = choice?.finish_reason ?? reason;
      for (const piece of list(at(choice, "delta", "tool_calls"))) {
        const place = Number(piece.index);
        const one = calls[place] ?? { id: piece.id, name: "", args: "" };
        calls[place] = one;
        one.name += at(piece, "function", "name") ?? "";
        one.args += at(piece, "function", "arguments") ?? "";
      }
    }
    return { calls, reason };
  },
};

const messages: ToolFormat = {
  words: { stop: "end_turn", calls: "tool_use" },
  ask: ({ turns, tools, forced, stream }) =>
    spliced({
      max_tokens: 100,
      messages: turns.map((turn) => {
        if ("user" in turn) return { role: "user", content: turn.user };
        if ("calls" in turn)
          return {
            role: "assistant",
            content: turn.calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: raw(args) })),
          };
        return {
          role: "user",
          content: turn.results.map(({ id, text }) => ({ type: "tool_result", tool_use_id: id, content: text })),
        };
      }),
      tools: tools.map(({ name, schema }) => ({ name, input_schema: schema })),
      ...(forced === undefined ? {} : { tool_choice: { type: "tool", name: forced } }),
      stream,
    }),
  read(text) {
    const body = cut(text, ["input"]) as Json;
    const turns = list(body.messages).flatMap(({ content }): Turn[] => {
      const blocks = list(content);
      const calls = blocks.filter(({ type }) => type === "tool_use");
      const answered = blocks.filter(({ type }) => type === "tool_result");
      return [
        ...(calls.length === 0
          ? []
          : [{ calls: calls.map(({ id, name, input }) => ({ id, name: String(name), args: String(input) })) }]),
        ...(answered.length === 0
          ? []
          : [{ results: answered.map(({ tool_use_id: id, content: said }) => ({ id, text: String(said) })) }]),
      ];
    });
    const tools = list(body.tools).map(({ name, input_schema }) => ({
      name: String(name),
      schema: input_schema as Json,
    }));
    return { turns, tools, forced: at(body, "tool_choice", "name") as string };
  },
  answer: ({ calls, reason }) => {
    const content = calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: raw(args) }));
    return spliced({ type: "message", content, stop_reason: reason, usage: { input_tokens: 9, output_tokens: 9 } });
  },
  told(text) {
    const body = cut(text, ["input"]) as Json;
    const calls = list(body.content).filter(({ type }) => type === "tool_use");
    return {
      calls: calls.map(({ id, name, input }) => ({ id, name: String(name), args: String(input) })),
      reason: body.stop_reason,
    };
  },
  events: ({ calls, reason }, omitsZero = false) =>
    sse([
      { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 0 } } },
      ...calls.flatMap(({ id, name, args }, n) => {
        const index = indexOf(n, omitsZero);
        return [
          { type: "content_block_start", index, content_block: { type: "tool_use", id, name, input: {} } },
          ...halves(args).map((piece) => ({
            type: "content_block_delta",
            index,
            delta: { type: "input_json_delta", partial_json: piece },
          })),
          { type: "content_block_stop", index },
        ];
      }),
      { type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
    ]),
  streamed(text) {
    const calls: { id: unknown; name: string; args: string }[] = [];
    let reason: unknown = null;
    for (const event of dataOf(text)) {
      const block = event.content_block as Json | undefined;
      if (block?.type === "tool_use") calls.push({ id: block.id, name: String(block.name), args: "" });
      const last = calls.at(-1);
      if (last !== undefined) last.args += at(event, "delta", "partial_json") ?? "";
      reason = at(event, "delta", "stop_reason") ?? reason;
    }
    return { calls, reason };
  },
};

const responses: ToolFormat = {
  words: { stop: "completed", calls: "completed" },
  ask: ({ turns, tools, forced, stream }) =>
    JSON.stringify({
      input: turns.flatMap((turn): Json[] => {
        if ("user" in turn) return [{ role: "user", content: turn.user }];
        if ("calls" in turn)
          return turn.calls.map(({ id, name, args }) => ({
            type: "function_call",
            call_id: id,
            name,
            arguments: args,
          }));
        return turn.results.map(({ id, text }) => ({ type: "function_call_output", call_id: id, output: text }));
      }),
      tools: tools.map(({ name, schema }) => ({ type: "function", name, parameters: schema, strict: false })),
      ...(forced === undefined ? {} : { tool_choice: { type: "function", name: forced } }),
      stream,
    }),
  read(text) {
    const body = JSON.parse(text) as Json;
    const turns = list(body.input).flatMap((item): Turn[] => {
      if (item.type === "function_call")
        return [{ calls: [{ id: item.call_id, name: String(item.name), args: String(item.arguments) }] }];
      if (item.type !== "function_call_output") return [];
      return [{ results: [{ id: item.call_id, text: String(item.output) }] }];
    });
    const tools = list(body.tools).map(({ name, parameters }) => ({ name: String(name), schema: parameters as Json }));
    return { turns, tools, forced: at(body, "tool_choice", "name") as string };
  },
  answer: ({ calls, reason }) => {
    const output = calls.map(({ id, name, args }, n) => ({
      type: "function_call",
      id: `fc_${n}`,
      call_id: id,
      name,
      arguments: args,
    }));
    return JSON.stringify({
      id: "resp_1",
      object: "response",
      status: reason,
      output,
      usage: { input_tokens: 9, output_tokens: 9 },
    });
  },
  told(text) {
    const body = JSON.parse(text) as Json;
    const calls = list(body.output).filter(({ type }) => type === "function_call");
    return {
      calls: calls.map(({ call_id, name, arguments: args }) => ({
        id: call_id,
        name: String(name),
        args: String(args),
      })),
      reason: body.status,
    };
  },
  events: ({ calls, reason }, omitsZero = false) => {
    const items = calls.map(({ id, name, args }, n) => ({
      type: "function_call",
      id: `fc_${n}`,
      call_id: id,
      name,
      arguments: args,
    }));
    return sse([
      { type: "response.created", response: { status: "in_progress", output: [] } },
      ...items.flatMap((item, n) => {
        const output_index = indexOf(n, omitsZero);
        return [
          { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
          ...halves(item.arguments).map((delta) => ({
            type: "response.function_call_arguments.delta",
            output_index,
            item_id: item.id,
            delta,
          })),
          { type: "response.output_item.done", output_index, item },
        ];
      }),
      {
        type: "response.completed",
        response: { status: reason, output: items, usage: { input_tokens: 9, output_tokens: 9 } },
      },
    ]);
  },
  streamed(text) {
    const last = dataOf(text).findLast(({ type }) => type === "response.completed");
    return responses.told(JSON.stringify(last?.response));
  },
};

const callsIn = (parts: unknown): Call[] =>
  list(parts).flatMap(({ functionCall: call }) => {
    return call === undefined
      ? []
      : [{ id: at(call, "id"), name: String(at(call, "name")), args: String(at(call, "args") ?? "{}") }];
  });

const generate: ToolFormat = {
  words: { stop: "STOP", calls: "STOP" },
  ask: ({ turns, tools, forced }) =>
    spliced({
      contents: turns.map((turn) => {
        if ("user" in turn) return { role: "user", parts: [{ text: turn.user }] };
        if ("calls" in turn)
          return {
            role: "model",
            parts: turn.calls.map(({ id, name, args }) => ({ functionCall: { id, name, args: raw(args) } })),
          };
        const named = (id: unknown) =>
          turns.flatMap((one) => ("calls" in one ? one.calls : [])).find((call) => call.id === id)?.name ?? "f";
        return {
          role: "user",
          parts: turn.results.map(({ id, text }) => ({
            functionResponse: { id, name: named(id), response: { output: text } },
          })),
        };
      }),
      tools: [{ functionDeclarations: tools.map(({ name, schema }) => ({ name, parametersJsonSchema: schema })) }],
      ...(forced === undefined
        ? {}
        : { toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [forced] } } }),
    }),
  read(text) {
    const body = cut(text, ["args"]) as Json;
    const turns = list(body.contents).flatMap(({ parts }): Turn[] => {
      const calls = callsIn(parts);
      const answered = list(parts).flatMap(({ functionResponse: one }) =>
        one === undefined ? [] : [{ id: at(one, "id"), text: String(at(one, "response", "output")) }],
      );
      return [...(calls.length === 0 ? [] : [{ calls }]), ...(answered.length === 0 ? [] : [{ results: answered }])];
    });
    const tools = list(at(body, "tools", 0, "functionDeclarations")).map(({ name, parametersJsonSchema }) => {
      return { name: String(name), schema: parametersJsonSchema as Json };
    });
    return {
      turns,
      tools,
      forced: at(body, "toolConfig", "functionCallingConfig", "allowedFunctionNames", 0) as string,
    };
  },
  answer: ({ calls, reason }) => {
    const parts = calls.map(({ id, name, args }) => ({ functionCall: { id, name, args: raw(args) } }));
    return spliced({
      candidates: [{ content: { parts }, finishReason: reason }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 9 },
    });
  },
  told(text) {
    const body = cut(text, ["args"]);
    return {
      calls: callsIn(at(body, "candidates", 0, "content", "parts")),
      reason: at(body, "candidates", 0, "finishReason"),
    };
  },
  events: (answered) => sse([generate.answer(answered)]),
  streamed(text) {
    const events = dataOf(text, ["args"]);
    const reason = events
      .map((event) => at(event, "candidates", 0, "finishReason"))
      .findLast((one) => one !== undefined);
    return { calls: events.flatMap((event) => callsIn(at(event, "candidates", 0, "content", "parts"))), reason };
  },
};

/** No caller uses it. */
const converse: ToolFormat = {
  words: { stop: "end_turn", calls: "tool_use" },
  ask: () => "",
  told: () => ({ calls: [], reason: null }),
  streamed: () => ({ calls: [], reason: null }),
  read(text) {
    const body = cut(text, ["input"]) as Json;
    const turns = list(body.messages).flatMap(({ content }): Turn[] => {
      const calls = list(content).flatMap(({ toolUse: one }) =>
        one === undefined
          ? []
          : [{ id: at(one, "toolUseId"), name: String(at(one, "name")), args: String(at(one, "input")) }],
      );
      const answered = list(content).flatMap(({ toolResult: one }) =>
        one === undefined ? [] : [{ id: at(one, "toolUseId"), text: String(at(one, "content", 0, "text")) }],
      );
      return [...(calls.length === 0 ? [] : [{ calls }]), ...(answered.length === 0 ? [] : [{ results: answered }])];
    });
    const tools = list(at(body, "toolConfig", "tools")).map(({ toolSpec: one }) => {
      return { name: String(at(one, "name")), schema: at(one, "inputSchema", "json") as Json };
    });
    return { turns, tools, forced: at(body, "toolConfig", "toolChoice", "tool", "name") as string };
  },
  answer: ({ calls, reason }) => {
    const content = calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: raw(args) } }));
    return spliced({
      output: { message: { role: "assistant", content } },
      stopReason: reason,
      usage: { inputTokens: 9, outputTokens: 9 },
    });
  },
  events: ({ calls, reason }, omitsZero = false) => {
    const events: [string, Json][] = [
      ["messageStart", { role: "assistant" }],
      ...calls.flatMap(({ id, name, args }, n): [string, Json][] => {
        const contentBlockIndex = indexOf(n, omitsZero);
        return [
          ["contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId: id, name } } }],
          ...halves(args).map((input): [string, Json] => [
            "contentBlockDelta",
            { contentBlockIndex, delta: { toolUse: { input } } },
          ]),
          ["contentBlockStop", { contentBlockIndex }],
        ];
      }),
      ["messageStop", { stopReason: reason }],
      ["metadata", { usage: { inputTokens: 9, outputTokens: 9 } }],
    ];
    return Buffer.concat(
      events.map(([name, data]) => namedFrame({ name, data: JSON.stringify(data), tokens: 0, kind: "preamble" })),
    );
  },
};

export const TOOL_FORMATS: Readonly<Record<DialectName, ToolFormat>> = {
  "chat-completions": chat,
  messages,
  responses,
  "generate-content": generate,
  converse,
};
export { results as resultsIn };

// A vendor's output in each dialect: the same short answers, as events and whole. A dialect without an entry does not compile.
import type { DialectName } from "../../../src/catalog/chat-wire.ts";
import { ResponseRecorder } from "../../../src/models/chat/response-recorder.ts";
import { MODEL_WIRES } from "../../../src/models/formats/model-wires.ts";
import { DIALECTS } from "../../../src/models/formats/vendor-dialects.ts";
import { namedFrame } from "../../../src/sandbox/eventstream-frame.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

type Json = Readonly<Record<string, unknown>>;

export interface Speech {
  /** The media type of its streams. */
  readonly type: string;
  /** One event; `null` as data is the end mark. */
  event(json: unknown, name?: string): Buffer;
  /** A whole answer. */
  whole(text: string): Json;
  /** A stream of these pieces, with a finish reason on each, or on the first alone. */
  early(pieces: readonly string[], marks: "first" | "each"): readonly Buffer[];
  /** A stream that begins and has no content: the event that it repeats. */
  readonly nothing: Readonly<Record<string, Buffer>>;
}

const data = (json: unknown) => Buffer.from(`data: ${typeof json === "string" ? json : JSON.stringify(json)}\n\n`);
const named = (json: Json) => Buffer.from(`event: ${json.type}\n${data(json)}`);
const frame = (json: unknown, name = "") =>
  namedFrame({ name, data: JSON.stringify(json), tokens: 0, kind: "content" });
const SSE = "text/event-stream";
const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };
const isMarked = (at: number, marks: "first" | "each") => marks === "each" || at === 0;

const chunk = (delta: Json, finish_reason: string | null) =>
  data({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
const candidate = (text: string, finishReason?: string) => ({
  candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, finishReason }],
});
const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 2 };
const block = (index: number, text: string) => [
  named({ type: "content_block_start", index, content_block: { type: "text", text: "" } }),
  named({ type: "content_block_delta", index, delta: { type: "text_delta", text } }),
  named({ type: "content_block_stop", index }),
];
const stop = () =>
  named({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { input_tokens: 5, output_tokens: 2 } });
const response = (text: string) => ({
  id: "resp_x",
  object: "response",
  status: "completed",
  output: [
    { type: "message", id: "msg_x", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] },
  ],
  usage: { input_tokens: 5, output_tokens: 2 },
});
const begun = named({ type: "response.created", response: { ...response(""), status: "in_progress", output: [] } });
const message = {
  id: "msg_x",
  type: "message",
  role: "assistant",
  model: "m",
  content: [],
  usage: { input_tokens: 5 },
};

export const SPEECHES: Readonly<Record<DialectName, Speech>> = {
  "chat-completions": {
    type: SSE,
    event: data,
    whole: (content) => ({
      id: "x",
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: USAGE,
    }),
    early: (pieces, marks) => [
      ...pieces.map((content, at) => chunk({ content }, isMarked(at, marks) ? "stop" : null)),
      data({ choices: [], usage: USAGE }),
      data("[DONE]"),
    ],
    nothing: { role: chunk({ role: "assistant", content: "" }, null), finish: chunk({}, "stop") },
  },
  messages: {
    type: SSE,
    event: data,
    whole: (text) => ({
      ...message,
      content: [{ type: "text", text }],
      stop_reason: "end_turn",
      usage: { input_tokens: 5, output_tokens: 2 },
    }),
    early: (pieces, marks) => [
      named({ type: "message_start", message }),
      ...pieces.flatMap((text, at) => [...block(at, text), ...(isMarked(at, marks) ? [stop()] : [])]),
      named({ type: "message_stop" }),
    ],
    nothing: { start: named({ type: "message_start", message }), finish: stop(), ping: named({ type: "ping" }) },
  },
  responses: {
    type: SSE,
    event: data,
    whole: response,
    // Its finish reason arrives only at the end; completed items are the nearest equivalent.
    early: (pieces) => [
      begun,
      ...pieces.flatMap((delta, output_index) => [
        named({ type: "response.output_text.delta", output_index, delta }),
        named({ type: "response.output_text.done", output_index, text: delta }),
        named({ type: "response.output_item.done", output_index, item: { type: "message", status: "completed" } }),
      ]),
      named({ type: "response.completed", response: response(pieces.join("")) }),
    ],
    nothing: { start: begun, done: named({ type: "response.output_text.done", text: "" }) },
  },
  "generate-content": {
    type: SSE,
    event: data,
    whole: (text) => ({ ...candidate(text, "STOP"), usageMetadata }),
    early: (pieces, marks) =>
      pieces.map((text, at) => data({ ...candidate(text, isMarked(at, marks) ? "STOP" : undefined), usageMetadata })),
    nothing: { role: data(candidate("")), finish: data(candidate("", "STOP")) },
  },
  converse: {
    type: "application/vnd.amazon.eventstream",
    event: frame,
    whole: (text) => ({
      output: { message: { role: "assistant", content: [{ text }] } },
      stopReason: "end_turn",
      usage: { inputTokens: 5, outputTokens: 2 },
    }),
    early: (pieces, marks) => [
      frame({ role: "assistant" }, "messageStart"),
      ...pieces.flatMap((text, contentBlockIndex) => [
        frame({ contentBlockIndex, delta: { text } }, "contentBlockDelta"),
        frame({ contentBlockIndex }, "contentBlockStop"),
        ...(isMarked(contentBlockIndex, marks) ? [frame({ stopReason: "end_turn" }, "messageStop")] : []),
      ]),
      frame({ usage: { inputTokens: 5, outputTokens: 2 } }, "metadata"),
    ],
    nothing: {
      start: frame({ role: "assistant" }, "messageStart"),
      finish: frame({ stopReason: "end_turn" }, "messageStop"),
    },
  },
};

export const DIALECT_NAMES = Object.keys(DIALECTS) as readonly DialectName[];

/** A request for a word in each wire; a wire without an entry fails. */
const ASKING: Readonly<
  Record<string, (model: string, stream: boolean) => { readonly path: string; readonly body: Json }>
> = {
  "chat-completions": (model, stream) => ({
    path: "/v1/chat/completions",
    body: { model, stream, messages: [{ role: "user", content: "Hi" }] },
  }),
  responses: (model, stream) => ({ path: "/v1/responses", body: { model, stream, input: "Hi" } }),
  messages: (model, stream) => ({
    path: "/v1/messages",
    body: { model, stream, max_tokens: 100, messages: [{ role: "user", content: "Hi" }] },
  }),
  "generate-content": (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
  }),
};

export const WIRE_NAMES = MODEL_WIRES.map(({ name }) => name);

/** A gateway with a vendor of each dialect at this address. */
export function gatewayVia(url: string, settings: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
  const names = DIALECT_NAMES.map((dialect) => `VIA_${dialect.toUpperCase().replace("-", "_")}_BASE_URL`);
  return startTestGateway({
    OVERLAY_DIR: new URL("../../fixtures/wires-overlay", import.meta.url).pathname,
    ...Object.fromEntries(names.map((name) => [name, `${url}/v1`])),
    ...settings,
  });
}

export interface Answered {
  readonly status: number;
  readonly text: string;
  /** The text and the finish reason, independent of the wire; `error`: the stream broke off. */
  readonly said: string;
  readonly reason: string;
  readonly requestId: string | null;
}

export async function ask(
  gateway: TestGateway,
  { key }: TestAccount,
  { wire, dialect, stream }: { readonly wire: string; readonly dialect: DialectName; readonly stream: boolean },
): Promise<Answered> {
  const asking = ASKING[wire];
  if (asking === undefined) throw new Error(`say how the wire ${wire} is asked`);
  const { path, body } = asking(`via-${dialect}/m`, stream);
  const answer = await postAs(key, `${gateway.url}${path}`, body);
  const text = await answer.text();
  const told = ResponseRecorder.of(wire);
  told?.take(Buffer.from(text), answer.headers.get("content-type") ?? "");
  const [choice] = told?.choices() ?? [];
  const said = choice?.blocks.map((one) => ("text" in one ? one.text : "")).join("") ?? "";
  const requestId = answer.headers.get("x-request-id");
  return { status: answer.status, text, said, reason: choice?.reason ?? "error", requestId };
}

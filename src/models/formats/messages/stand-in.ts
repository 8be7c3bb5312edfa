// The messages dialect: content blocks, named events and errors as its vendor writes them.
import { type Answer, type AnswerUsage, type Choice, cutInput } from "../../../sandbox/answer.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import { wrappedFrame } from "../../../sandbox/eventstream-frame.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import { modelInPath, pathRefusal, streamsByPath, withPathModel } from "../../../sandbox/model-in-path.ts";
import { type Refusal, refusalWords } from "../../../sandbox/refusals.ts";
import { type MessagesRequest, readMessagesRequest, signatureOf } from "./strict-request.ts";

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
} as const satisfies Record<Choice["finish"], string>;

/** The vendor's own name stands before them. */
const VERSION_HEADER = /^[a-z]+-version$/;
const BETA_HEADER = /^[a-z]+-beta$/;

/** Input tokens are those that no cache was involved with. */
function usageOf(usage: AnswerUsage, outputTokens: number) {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: outputTokens,
  };
}

function startUsage(usage: AnswerUsage) {
  const cache_creation = { ephemeral_5m_input_tokens: usage.cacheWriteTokens, ephemeral_1h_input_tokens: 0 };
  return { ...usageOf(usage, 1), cache_creation, service_tier: "standard" };
}

/** A content block: how it starts, and the deltas that fill it. */
interface Block {
  readonly start: Record<string, unknown>;
  readonly deltas: Iterable<{ readonly delta: Record<string, unknown>; readonly tokens: number }>;
  readonly whole: Record<string, unknown>;
}

function blocksOf(choice: Choice, showThinking: boolean): Block[] {
  const blocks: Block[] = [];
  const thinking = choice.thinking.join("");
  if (thinking !== "") {
    const signature = signatureOf(thinking);
    const shown = showThinking ? choice.thinking : [];
    blocks.push({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...shown.map((word) => ({ delta: { type: "thinking_delta", thinking: word }, tokens: 1 })),
        { delta: { type: "signature_delta", signature }, tokens: choice.thinking.length - shown.length },
      ],
      whole: { type: "thinking", thinking: shown.join(""), signature },
    });
  }
  if (choice.text.length > 0) {
    blocks.push({
      start: { type: "text", text: "" },
      deltas: choice.text.map((word) => ({ delta: { type: "text_delta", text: word }, tokens: 1 })),
      whole: { type: "text", text: choice.text.join("") },
    });
  }
  for (const { id, name, fragments } of choice.calls) {
    const head = { type: "tool_use", id: `toolu_${id}`, name };
    const empty = { delta: { type: "input_json_delta", partial_json: "" }, tokens: 0 };
    const filled = fragments.map((json) => ({ delta: { type: "input_json_delta", partial_json: json }, tokens: 1 }));
    blocks.push({
      start: { ...head, input: {} },
      deltas: [empty, ...filled],
      whole: { ...head, input: cutInput(fragments) },
    });
  }
  return blocks;
}

function endingOf(choice: Choice | undefined) {
  const stopped = choice?.stoppedBy ?? null;
  return {
    stop_reason: stopped === null ? STOP_REASONS[choice?.finish ?? "stop"] : "stop_sequence",
    stop_sequence: stopped,
  };
}

function messageHead({ ask }: MessagesRequest, answer: Answer) {
  return { id: `msg_${answer.id}`, type: "message", role: "assistant", model: ask.model };
}

function whole(request: MessagesRequest, answer: Answer, conduct: Conduct): Record<string, unknown> {
  const choice = answer.choices[0];
  return {
    ...messageHead(request, answer),
    content: choice ? blocksOf(choice, request.showThinking).map((block) => block.whole) : [],
    ...endingOf(choice),
    ...(conduct.usage !== "never" && {
      usage: { ...startUsage(answer.usage), ...usageOf(answer.usage, answer.usage.outputTokens) },
    }),
  };
}

function event(
  kind: DialectEvent["kind"],
  tokens: number,
  data: { readonly type: string } & Record<string, unknown>,
): DialectEvent {
  return { name: data.type, data: JSON.stringify(data), tokens, kind };
}

/** Usage comes first with the message and last with its ending; on every event only as far as this dialect has room for it. */
function* events(request: MessagesRequest, answer: Answer, conduct: Conduct): Generator<DialectEvent> {
  const choice = answer.choices[0];
  const first = conduct.usage === "finish" ? { input_tokens: 0, output_tokens: 0 } : startUsage(answer.usage);
  const message = { ...messageHead(request, answer), content: [], stop_reason: null, stop_sequence: null };
  const usage = conduct.usage === "never" ? {} : { usage: first };
  yield event("preamble", 0, { type: "message_start", message: { ...message, ...usage } });
  yield event("preamble", 0, { type: "ping" });
  let written = 0;
  for (const [index, block] of (choice ? blocksOf(choice, request.showThinking) : []).entries()) {
    yield event("content", 0, { type: "content_block_start", index, content_block: block.start });
    for (const { delta, tokens } of block.deltas) {
      written += tokens;
      yield event("content", tokens, { type: "content_block_delta", index, delta });
      if (conduct.usage === "every") {
        const counted = { delta: { stop_reason: null, stop_sequence: null }, usage: usageOf(answer.usage, written) };
        yield event("content", 0, { type: "message_delta", ...counted });
      }
    }
    yield event("content", 0, { type: "content_block_stop", index });
  }
  const last = conduct.usage === "never" ? {} : { usage: usageOf(answer.usage, answer.usage.outputTokens) };
  yield event("closing", 0, { type: "message_delta", delta: endingOf(choice), ...last });
  yield event("done", 0, { type: "message_stop" });
}

function error(refusal: Refusal) {
  const { type, message } = refusalWords(refusal, "messages");
  return { type: "error", error: { type, message }, request_id: "req_sandbox" };
}

/** The field that stands for the version header where another vendor serves the wire. */
const VERSION_FIELD = /^[a-z]+_version$/;

/** A request to one who serves the wire under a path of his own: his version is in the body, and the model is not. */
function readByPath(json: unknown, url: URL): DialectReading | Refusal {
  const isInvoked = url.pathname.includes("/invoke");
  const twice = pathRefusal(json, url, isInvoked ? ["stream"] : []);
  if (twice !== null) return twice;
  const { body, version } = withoutVersion(withPathModel(json, url));
  if (!/^[a-z]+-\d{4}-\d{2}-\d{2}$/.test(String(version))) {
    return { kind: "invalid", message: "the version field is required" };
  }
  const request = readMessagesRequest(isInvoked ? { ...body, stream: streamsByPath(url) } : body);
  if ("kind" in request) return request;
  const reading = readingOf(request.ask, request, { whole, events });
  return isInvoked ? { ...reading, frame: wrappedFrame } : reading;
}

function withoutVersion(json: unknown): { readonly body: Record<string, unknown>; readonly version: unknown } {
  const fields = Object.entries(typeof json === "object" && json !== null ? json : {});
  const [, version] = fields.find(([name]) => VERSION_FIELD.test(name)) ?? [];
  return { body: Object.fromEntries(fields.filter(([name]) => !VERSION_FIELD.test(name))), version };
}

export const messages: Dialect = {
  path: /\/messages$|\/model\/[^/]+\/invoke(-with-response-stream)?$|:(streamRawPredict|rawPredict)$/,
  marks: ["x-api-key"],
  lineEnd: "\n",
  hasCredential: ({ headers, url }) =>
    Boolean(headers["x-api-key"]) || (modelInPath(url) !== null && Boolean(headers.authorization)),
  read(json, { headers, url }): DialectReading | Refusal {
    if (modelInPath(url) !== null) return readByPath(json, url);
    if (!Object.keys(headers).some((name) => VERSION_HEADER.test(name))) {
      return { kind: "invalid", message: "the version header is required" };
    }
    const betas = Object.entries(headers).find(([name]) => BETA_HEADER.test(name))?.[1];
    const request = readMessagesRequest(json, String(betas ?? ""));
    if ("kind" in request) return request;
    return readingOf(request.ask, request, { whole, events });
  },
  error,
  errorEvent: (refusal) => event("closing", 0, error(refusal)),
};

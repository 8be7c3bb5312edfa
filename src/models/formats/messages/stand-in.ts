// A messages vendor stub: answers through the format's own encoder, with the usage counts and errors of the real vendor.
import type { AnswerCodec } from "../../../core/neutral.ts";
import type { Answer, AnswerUsage } from "../../../sandbox/answer.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import { type AnswerWords, encodedEvents, neutralAnswer } from "../../../sandbox/encoded-answer.ts";
import { wrappedFrame } from "../../../sandbox/eventstream-frame.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import { modelInPath, pathRefusal, streamsByPath, withPathModel } from "../../../sandbox/model-in-path.ts";
import { type Refusal, refusalWords } from "../../../sandbox/refusals.ts";
import { messagesAnswers } from "./answers.ts";
import { type MessagesRequest, readMessagesRequest, signatureOf } from "./strict-request.ts";

/** The vendor's name is a prefix. */
const VERSION_HEADER = /^[a-z]+-version$/;
const BETA_HEADER = /^[a-z]+-beta$/;

/** Input tokens exclude those read from or written to a cache. */
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

const WORDS: AnswerWords = {
  callPrefix: "toolu_",
  seal: signatureOf,
  native: ({ stoppedBy }) => (stoppedBy === null ? "" : "stop_sequence"),
};

function codecOf({ ask, showThinking }: MessagesRequest, { id, choices }: Answer): AnswerCodec {
  const stoppedBy = choices[0]?.stoppedBy ?? null;
  return messagesAnswers({
    head: { id: `msg_${id}`, createdS: 0, model: ask.model },
    shown: showThinking ? "all" : "sealed",
    promptTokens: 0,
    stops: stoppedBy === null ? [] : [stoppedBy],
  });
}

function whole(request: MessagesRequest, answer: Answer, conduct: Conduct): Record<string, unknown> {
  const message = codecOf(request, answer).whole(neutralAnswer(answer, WORDS));
  if (conduct.usage === "never") return message;
  return { ...message, usage: { ...startUsage(answer.usage), ...usageOf(answer.usage, answer.usage.outputTokens) } };
}

function event(
  kind: DialectEvent["kind"],
  tokens: number,
  data: { readonly type: string } & Record<string, unknown>,
): DialectEvent {
  return { name: data.type, data: JSON.stringify(data), tokens, kind };
}

/** The empty input delta that vendors send at the start of a call. */
function emptyInput({ data }: DialectEvent): DialectEvent {
  const delta = { type: "input_json_delta", partial_json: "" };
  return event("content", 0, { type: "content_block_delta", index: JSON.parse(data).index, delta });
}

/** The encoder leaves the last event open before its usage counts. */
const OPEN_USAGE = /,"usage":\{$/;

/** Usage comes with the first and the last event, and with every event where the format has room for it. */
function* events(request: MessagesRequest, answer: Answer, { usage }: Conduct): Generator<DialectEvent> {
  const counts = (tokens: number) => (usage === "never" ? {} : { usage: usageOf(answer.usage, tokens) });
  let written = 0;
  for (const one of encodedEvents(answer, WORDS, codecOf(request, answer).encoder())) {
    written += one.tokens;
    if (one.name === "message_start") {
      const { usage: _, ...message } = JSON.parse(one.data).message;
      const first = usage === "finish" ? { input_tokens: 0, output_tokens: 0 } : startUsage(answer.usage);
      const counted = usage === "never" ? message : { ...message, usage: first };
      yield event("preamble", 0, { type: "message_start", message: counted });
      yield event("preamble", 0, { type: "ping" });
    } else if (one.name === "message_delta") {
      const ending = JSON.parse(one.data.replace(OPEN_USAGE, "}"));
      yield event("closing", one.tokens, { ...ending, ...counts(answer.usage.outputTokens) });
    } else {
      yield one;
      if (one.name === "content_block_start" && one.data.includes('"type":"tool_use"')) yield emptyInput(one);
      const delta = { stop_reason: null, stop_sequence: null };
      if (usage === "every" && one.tokens > 0)
        yield event("content", 0, { type: "message_delta", delta, ...counts(written) });
    }
  }
  yield event("done", 0, { type: "message_stop" });
}

function error(refusal: Refusal) {
  const { type, message } = refusalWords(refusal, "messages");
  return { type: "error", error: { type, message }, request_id: "req_sandbox" };
}

/** Clouds take the version in this body field instead of the header. */
const VERSION_FIELD = /^[a-z]+_version$/;

/** Reads a request to a cloud that serves this format under its own paths: the version is in the body, the model in the path. */
function readByPath(json: unknown, url: URL): DialectReading | Refusal {
  const isInvoked = url.pathname.includes("/invoke");
  const twice = pathRefusal(json, url, isInvoked ? ["stream"] : []);
  if (twice !== null) return twice;
  const { body, version } = withoutVersion(withPathModel(json, url));
  if (!/^[a-z]+-\d{4}-\d{2}-\d{2}$/.test(String(version)))
    return { kind: "invalid", message: "the version field is required" };
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
    if (!Object.keys(headers).some((name) => VERSION_HEADER.test(name)))
      return { kind: "invalid", message: "the version header is required" };
    const betas = Object.entries(headers).find(([name]) => BETA_HEADER.test(name))?.[1];
    const request = readMessagesRequest(json, String(betas ?? ""));
    if ("kind" in request) return request;
    return readingOf(request.ask, request, { whole, events });
  },
  error,
  errorEvent: (refusal) => event("closing", 0, error(refusal)),
};

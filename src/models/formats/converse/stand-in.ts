// The converse stub: typed blocks, named events in binary frames, and errors as exceptions.
import { type Answer, type AnswerUsage, type Choice, cutInput } from "../../../sandbox/answer.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import { namedFrame } from "../../../sandbox/eventstream-frame.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import { pathRefusal, streamsByPath, withPathModel } from "../../../sandbox/model-in-path.ts";
import { type Refusal, refusalWords } from "../../../sandbox/refusals.ts";
import { signatureOf } from "../messages/strict-request.ts";
import { type ConverseReading, readConverseRequest } from "./strict-request.ts";

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "content_filtered",
} as const satisfies Record<Choice["finish"], string>;

const EXCEPTIONS: Readonly<Record<string, string>> = {
  rate_limited: "throttlingException",
  overloaded: "serviceUnavailableException",
  server_error: "internalServerException",
};

function usageOf(usage: AnswerUsage) {
  const inputTokens = usage.promptTokens - usage.cachedTokens - usage.cacheWriteTokens;
  return {
    inputTokens,
    outputTokens: usage.outputTokens,
    totalTokens: usage.promptTokens + usage.outputTokens,
    cacheReadInputTokens: usage.cachedTokens,
    cacheWriteInputTokens: usage.cacheWriteTokens,
  };
}

function stopReasonOf(choice: Choice | undefined): string {
  return choice?.stoppedBy ? "stop_sequence" : STOP_REASONS[choice?.finish ?? "stop"];
}

/** The signature of a choice's thoughts; undefined if the model does not sign them. */
function signed(choice: Choice | undefined, { signsThoughts }: ConverseReading): string | undefined {
  return signsThoughts && choice !== undefined ? signatureOf(choice.thinking.join("")) : undefined;
}

function whole(reading: ConverseReading, answer: Answer, conduct: Conduct): Record<string, unknown> {
  const choice = answer.choices[0];
  const text = choice?.text.join("") ?? "";
  const thought = choice?.thinking.join("") ?? "";
  const reasoningText = { text: thought, signature: signed(choice, reading) };
  const calls = (choice?.calls ?? []).map(({ id, name, fragments }) => ({
    toolUse: { toolUseId: `tooluse_${id}`, name, input: cutInput(fragments) },
  }));
  const thoughts = thought === "" ? [] : [{ reasoningContent: { reasoningText } }];
  const content = [...thoughts, ...(text === "" ? [] : [{ text }]), ...calls];
  return {
    output: { message: { role: "assistant", content } },
    stopReason: stopReasonOf(choice),
    ...(conduct.usage !== "never" && { usage: usageOf(answer.usage) }),
    metrics: { latencyMs: 1 },
  };
}

function event(kind: DialectEvent["kind"], tokens: number, name: string, data: object): DialectEvent {
  return { name, data: JSON.stringify(data), tokens, kind };
}

/** Usage comes last, after the event that ends the message. */
function* events(reading: ConverseReading, answer: Answer, conduct: Conduct): Generator<DialectEvent> {
  const choice = answer.choices[0];
  yield event("preamble", 0, "messageStart", { role: "assistant" });
  let contentBlockIndex = 0;
  if (choice !== undefined && choice.thinking.length > 0) {
    for (const text of choice.thinking)
      yield event("content", 1, "contentBlockDelta", { contentBlockIndex, delta: { reasoningContent: { text } } });
    const signature = signed(choice, reading);
    if (signature !== undefined)
      yield event("content", 0, "contentBlockDelta", { contentBlockIndex, delta: { reasoningContent: { signature } } });
    yield event("content", 0, "contentBlockStop", { contentBlockIndex });
    contentBlockIndex++;
  }
  if (choice !== undefined && choice.text.length > 0) {
    for (const text of choice.text)
      yield event("content", 1, "contentBlockDelta", { contentBlockIndex, delta: { text } });
    yield event("content", 0, "contentBlockStop", { contentBlockIndex });
    contentBlockIndex++;
  }
  for (const { id, name, fragments } of choice?.calls ?? []) {
    const start = { toolUse: { toolUseId: `tooluse_${id}`, name } };
    yield event("content", 0, "contentBlockStart", { contentBlockIndex, start });
    for (const input of fragments)
      yield event("content", 1, "contentBlockDelta", { contentBlockIndex, delta: { toolUse: { input } } });
    yield event("content", 0, "contentBlockStop", { contentBlockIndex });
    contentBlockIndex++;
  }
  yield event("closing", 0, "messageStop", { stopReason: stopReasonOf(choice) });
  const usage = conduct.usage === "never" ? {} : { usage: usageOf(answer.usage) };
  yield event("closing", 0, "metadata", { ...usage, metrics: { latencyMs: 1 } });
}

function error(refusal: Refusal) {
  return { message: refusalWords(refusal, "messages").message };
}

export const converse: Dialect = {
  path: /\/model\/[^/]+\/converse(-stream)?$/,
  marks: [],
  lineEnd: "\n",
  hasCredential: ({ headers }) => Boolean(headers.authorization),
  read(json, { url }): DialectReading | Refusal {
    const twice = pathRefusal(json, url, []);
    if (twice !== null) return twice;
    const read = readConverseRequest(withPathModel(json, url), streamsByPath(url));
    if ("kind" in read) return read;
    return { ...readingOf(read.ask, read, { whole, events }), frame: namedFrame };
  },
  error,
  errorEvent: (refusal) => event("closing", 0, EXCEPTIONS[refusal.kind] ?? "validationException", error(refusal)),
};

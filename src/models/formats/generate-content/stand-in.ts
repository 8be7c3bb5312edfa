// The generateContent stub: candidates made of parts, usage in every event, and no event that ends the stream.

import type { Answer, AnswerUsage, Choice } from "../../../sandbox/answer.ts";
import { GENERATE_CONTENT } from "../../../sandbox/conventions.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import { seedOf } from "../../../sandbox/vocabulary.ts";
import { type GenerateContentRequest, readGenerateContentRequest } from "./strict-request.ts";

const FINISH_REASONS = {
  stop: "STOP",
  length: "MAX_TOKENS",
  tool_calls: "STOP",
  content_filter: "SAFETY",
} as const satisfies Record<Choice["finish"], string>;

const PATH = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** Thought tokens are counted in addition to the candidates' tokens. */
function usageOf(usage: AnswerUsage, candidatesTokens: number, thoughtsTokens: number) {
  return {
    promptTokenCount: usage.promptTokens,
    candidatesTokenCount: candidatesTokens,
    ...(thoughtsTokens > 0 && { thoughtsTokenCount: thoughtsTokens }),
    ...(usage.cachedTokens > 0 && { cachedContentTokenCount: usage.cachedTokens }),
    totalTokenCount: usage.promptTokens + candidatesTokens + thoughtsTokens,
    promptTokensDetails: [{ modality: "TEXT", tokenCount: usage.promptTokens }],
  };
}

interface Part {
  readonly part: Record<string, unknown>;
  readonly tokens: number;
  readonly thought: boolean;
}

/** A complete call is one part; a call truncated by the token limit is dropped, though its tokens count. */
function callParts(choice: Choice): Part[] {
  return choice.calls.map(({ name, input, fragments }, at) => {
    const json = fragments.join("");
    const signature = at === 0 ? { thoughtSignature: Buffer.from(`s${seedOf(json)}`).toString("base64") } : {};
    const isWhole = json.length === JSON.stringify(input).length;
    const part = isWhole ? { functionCall: { name, args: input }, ...signature } : { text: "" };
    return { part, tokens: fragments.length, thought: false };
  });
}

/** The streamed parts of a choice. Hidden thoughts delay the first part. */
function partsOf(choice: Choice, showThoughts: boolean): Part[] {
  const thoughts = choice.thinking.map((text) => ({ part: { text, thought: true }, tokens: 1, thought: true }));
  const texts = choice.text.map((text) => ({ part: { text }, tokens: 1, thought: false }));
  return [...(showThoughts ? thoughts : []), ...texts, ...callParts(choice)];
}

function wholeParts(choice: Choice, showThoughts: boolean): Record<string, unknown>[] {
  return [
    ...(showThoughts && choice.thinking.length > 0 ? [{ text: choice.thinking.join(""), thought: true }] : []),
    ...(choice.text.length > 0 ? [{ text: choice.text.join("") }] : []),
    ...callParts(choice).flatMap(({ part }) => ("functionCall" in part ? [part] : [])),
  ];
}

function whole(request: GenerateContentRequest, answer: Answer, conduct: Conduct): Record<string, unknown> {
  const { thinkingTokens, outputTokens } = answer.usage;
  const usageMetadata = usageOf(answer.usage, outputTokens - thinkingTokens, thinkingTokens);
  return {
    candidates: answer.choices.map((choice, index) => {
      const parts = wholeParts(choice, request.showThoughts);
      const content = { ...(parts.length > 0 && { parts }), role: "model" };
      return { content, finishReason: FINISH_REASONS[choice.finish], index };
    }),
    ...(conduct.usage !== "never" && { usageMetadata }),
    modelVersion: request.ask.model,
    responseId: answer.id,
  };
}

function* events(
  { ask, showThoughts }: GenerateContentRequest,
  answer: Answer,
  conduct: Conduct,
): Generator<DialectEvent> {
  const tail = { modelVersion: ask.model, responseId: answer.id };
  let candidates = 0;
  let thoughts = 0;
  const event = (
    kind: DialectEvent["kind"],
    tokens: number,
    candidate: Record<string, unknown>,
    last: boolean,
  ): DialectEvent => {
    const shown = conduct.usage !== "never" && (last || conduct.usage !== "finish");
    const usage = shown ? { usageMetadata: usageOf(answer.usage, candidates, thoughts) } : {};
    return { name: null, data: JSON.stringify({ candidates: [candidate], ...usage, ...tail }), tokens, kind };
  };
  for (const [index, choice] of answer.choices.entries()) {
    let hidden = showThoughts ? 0 : choice.thinking.length;
    thoughts += hidden;
    const parts = partsOf(choice, showThoughts);
    for (const { part, tokens, thought } of parts) {
      if (thought) thoughts += tokens;
      else candidates += tokens;
      yield event("content", tokens + hidden, { content: { parts: [part], role: "model" }, index }, false);
      hidden = 0;
    }
    const content = { ...(parts.length > 0 && { parts: [{ text: "" }] }), role: "model" };
    const ending = { content, finishReason: FINISH_REASONS[choice.finish], index };
    yield event("closing", hidden, ending, index === answer.choices.length - 1);
  }
}

export const generateContent: Dialect = {
  ...GENERATE_CONTENT,
  path: PATH,
  read(json, { url }): DialectReading | Refusal {
    const [, model = "", method] = PATH.exec(url.pathname) ?? [];
    const stream = method === "streamGenerateContent";
    if (stream && url.searchParams.get("alt") !== "sse")
      return { kind: "invalid", param: "alt", message: "alt: the sandbox streams server-sent events alone (alt=sse)" };
    const request = readGenerateContentRequest(json, decodeURIComponent(model), stream);
    if ("kind" in request) return request;
    return readingOf(request.ask, request, { whole, events });
  },
};

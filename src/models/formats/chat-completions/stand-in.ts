// The chat-completions dialect: answers, chunks and errors as its vendors write them.
import type { Answer, AnswerUsage, Choice } from "../../../sandbox/answer.ts";
import type { Ask } from "../../../sandbox/ask.ts";
import { CHAT_COMPLETIONS } from "../../../sandbox/conventions.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import { pathRefusal, withPathModel } from "../../../sandbox/model-in-path.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import { readChatRequest } from "./strict-request.ts";

const CREATED_S = 1_767_225_600;

function usageOf(usage: AnswerUsage) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.promptTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: usage.thinkingTokens },
  };
}

function callsOf(choice: Choice) {
  return choice.calls.map((call) => ({
    id: `call_${call.id}`,
    type: "function",
    function: { name: call.name, arguments: call.fragments.join("") },
  }));
}

function whole(ask: Ask, answer: Answer, conduct: Conduct): Record<string, unknown> {
  return {
    id: `chatcmpl-${answer.id}`,
    object: "chat.completion",
    created: CREATED_S,
    model: ask.model,
    choices: answer.choices.map((choice, index) => ({
      index,
      message: {
        role: "assistant",
        content: choice.calls.length > 0 ? null : choice.text.join(""),
        refusal: null,
        ...(choice.thinking.length > 0 && { reasoning: choice.thinking.join("") }),
        ...(choice.calls.length > 0 && { tool_calls: callsOf(choice) }),
      },
      logprobs: null,
      finish_reason: choice.finish,
    })),
    ...(conduct.usage !== "never" && { usage: usageOf(answer.usage) }),
  };
}

interface Delta {
  readonly delta: Record<string, unknown>;
  readonly tokens: number;
}

/** The deltas of one choice, one token each but for the heads of tool calls. */
function* deltasOf(choice: Choice): Generator<Delta> {
  for (const word of choice.thinking) yield { delta: { reasoning: word }, tokens: 1 };
  for (const word of choice.text) yield { delta: { content: word }, tokens: 1 };
  for (const [index, call] of choice.calls.entries()) {
    const head = { index, id: `call_${call.id}`, type: "function", function: { name: call.name, arguments: "" } };
    yield { delta: { tool_calls: [head] }, tokens: 0 };
    for (const fragment of call.fragments) {
      yield { delta: { tool_calls: [{ index, function: { arguments: fragment } }] }, tokens: 1 };
    }
  }
}

/** The choices take turns, as they do where a vendor makes them side by side. */
function* interleaved(choices: readonly Choice[]): Generator<Delta & { index: number; finish: string | null }> {
  let running = choices.map((choice, index) => ({ index, choice, deltas: deltasOf(choice) }));
  while (running.length > 0) {
    const next: typeof running = [];
    for (const one of running) {
      const step = one.deltas.next();
      if (step.done) {
        yield { index: one.index, delta: {}, tokens: 0, finish: one.choice.finish };
      } else {
        yield { index: one.index, ...step.value, finish: null };
        next.push(one);
      }
    }
    running = next;
  }
}

function* events(ask: Ask, answer: Answer, conduct: Conduct): Generator<DialectEvent> {
  const head = {
    id: `chatcmpl-${answer.id}`,
    object: "chat.completion.chunk",
    created: CREATED_S,
    model: ask.model,
    system_fingerprint: "fp_sandbox",
  };
  const separate = ask.usageAsked && conduct.usage === "asked";
  let written = 0;
  const event = (kind: DialectEvent["kind"], tokens: number, choices: unknown[], last: boolean): DialectEvent => {
    written += tokens;
    const rides = conduct.usage === "every" || (conduct.usage === "finish" && last);
    const counted = rides ? usageOf({ ...answer.usage, outputTokens: written }) : null;
    const usage = rides || separate ? { usage: counted } : {};
    return { name: null, data: JSON.stringify({ ...head, choices, ...usage }), tokens, kind };
  };
  const choice = (index: number, delta: Record<string, unknown>, finish_reason: string | null) => [
    { index, delta, logprobs: null, finish_reason },
  ];
  for (const [index, one] of answer.choices.entries()) {
    const content = one.calls.length > 0 ? null : "";
    yield event("preamble", 0, choice(index, { role: "assistant", content }, null), false);
  }
  let unfinished = answer.choices.length;
  for (const step of interleaved(answer.choices)) {
    if (step.finish !== null) unfinished -= 1;
    const kind = step.finish === null ? "content" : "closing";
    yield event(kind, step.tokens, choice(step.index, step.delta, step.finish), unfinished === 0);
  }
  if (separate) {
    const data = JSON.stringify({ ...head, choices: [], usage: usageOf(answer.usage) });
    yield { name: null, data, tokens: 0, kind: "closing" };
  }
  yield { name: null, data: "[DONE]", tokens: 0, kind: "done" };
}

export const chatCompletions: Dialect = {
  ...CHAT_COMPLETIONS,
  path: /\/chat\/completions$/,
  read(json, { url }): DialectReading | Refusal {
    const ask = pathRefusal(json, url, []) ?? readChatRequest(withPathModel(json, url));
    if ("kind" in ask) return ask;
    return readingOf(ask, ask, { whole, events });
  },
};

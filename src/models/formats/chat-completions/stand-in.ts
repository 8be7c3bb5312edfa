// A chat-completions vendor stub: answers through the format's own encoder, with the usage counts and errors of real vendors.
import { isRecord, type Json, listOf } from "../../../core/json.ts";
import type { AnswerCodec } from "../../../core/neutral.ts";
import { type Answer, tokenUsage } from "../../../sandbox/answer.ts";
import type { Ask } from "../../../sandbox/ask.ts";
import { CHAT_COMPLETIONS } from "../../../sandbox/conventions.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import { type AnswerWords, encodedEvents, neutralAnswer } from "../../../sandbox/encoded-answer.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import { pathRefusal, withPathModel } from "../../../sandbox/model-in-path.ts";
import type { Refusal } from "../../../sandbox/refusals.ts";
import { chatAnswers, usageJson } from "./answers.ts";
import { readChatRequest } from "./strict-request.ts";

const CREATED_S = 1_767_225_600;

const WORDS: AnswerWords = { callPrefix: "call_", seal: () => null, native: () => "" };

function codecOf({ model }: Ask, { id }: Answer): AnswerCodec {
  return chatAnswers({ id: `chatcmpl-${id}`, createdS: CREATED_S, model });
}

/** A choice without fields that only the gateway adds. If a call follows, a vendor's first delta has null as its text. */
function ownChoice({ index, delta, message, finish_reason }: Json, { choices }: Answer): Json {
  const { reasoning_content: _, ...said } = (delta ?? message) as Json;
  if (said.content === "" && choices[Number(index)]?.calls.length) said.content = null;
  return { index, [delta === undefined ? "message" : "delta"]: said, logprobs: null, finish_reason };
}

function whole(ask: Ask, answer: Answer, conduct: Conduct): Json {
  const completion = codecOf(ask, answer).whole(neutralAnswer(answer, WORDS));
  return {
    ...completion,
    choices: listOf(completion.choices)
      .filter(isRecord)
      .map((choice) => ownChoice(choice, answer)),
    ...(conduct.usage !== "never" && { usage: usageJson(tokenUsage(answer.usage)) }),
  };
}

function* events(ask: Ask, answer: Answer, conduct: Conduct): Generator<DialectEvent> {
  const separate = ask.usageAsked && conduct.usage === "asked";
  let written = 0;
  let unfinished = answer.choices.length;
  let head: Json = {};
  for (const event of encodedEvents(answer, WORDS, codecOf(ask, answer).encoder())) {
    written += event.tokens;
    if (event.kind === "closing") unfinished -= 1;
    const { choices, ...chunk } = JSON.parse(event.data);
    head = { ...chunk, system_fingerprint: "fp_sandbox" };
    const rides = conduct.usage === "every" || (conduct.usage === "finish" && unfinished === 0);
    const counted = rides ? usageJson(tokenUsage({ ...answer.usage, outputTokens: written })) : null;
    const usage = rides || separate ? { usage: counted } : {};
    yield {
      ...event,
      data: JSON.stringify({ ...head, choices: choices.map((choice: Json) => ownChoice(choice, answer)), ...usage }),
    };
  }
  if (separate) {
    const data = JSON.stringify({ ...head, choices: [], usage: usageJson(tokenUsage(answer.usage)) });
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

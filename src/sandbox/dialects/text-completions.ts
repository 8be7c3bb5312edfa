// OpenAI's older completions in the sandbox, and Mistral's fill-in-the-middle, which answers in the form of a chat.
import { z } from "zod";
import type { Answer } from "../answer.ts";
import type { DialectEvent } from "../dialect.ts";
import { inputAsk, unitDialect, unitReading } from "./unit-reading.ts";

const common = {
  model: z.string().min(1),
  prompt: z.string(),
  suffix: z.string().optional(),
  max_tokens: z.int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  stop: z.union([z.string(), z.array(z.string()).max(16)]).optional(),
  stream: z.boolean().optional(),
};
const plain = z.strictObject({
  ...common,
  n: z.int().min(1).max(8).optional(),
  stream_options: z.strictObject({ include_usage: z.boolean().optional() }).optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional(),
  seed: z.int().optional(),
  logprobs: z.int().min(0).max(5).optional(),
  user: z.string().optional(),
});
const filling = z.strictObject({ ...common, random_seed: z.int().optional(), min_tokens: z.int().min(0).optional() });

type Asked = z.infer<typeof plain>;

/** Writes a piece of text in the vendor's form: `whole`, or for a stream. */
type Say = (text: string, whole: boolean) => Record<string, unknown>;

function usageOf({ usage }: Answer) {
  const { promptTokens, outputTokens } = usage;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  };
}

function reading({ model, prompt, suffix = "", max_tokens, n = 1, stream = false }: Asked, told: boolean, say: Say) {
  const ask = {
    ...inputAsk(model, []),
    turns: [{ role: "user" as const, text: [prompt, suffix].filter(Boolean).join(" "), parts: 0 }],
    stream,
    usageAsked: told,
    choices: n,
    outputTokensMax: max_tokens ?? null,
  };
  const head = { object: "text_completion", created: 1_700_000_000, model };
  return {
    ...unitReading(ask, (answer) => ({
      id: `cmpl-${answer.id}`,
      ...head,
      choices: answer.choices.map(({ text, finish }, index) => {
        return { index, ...say(text.join(""), true), logprobs: null, finish_reason: finish };
      }),
      usage: usageOf(answer),
    })),
    *events(answer: Answer): Generator<DialectEvent> {
      const event = (choices: unknown[], tokens: number, more: object = {}): DialectEvent => {
        const data = JSON.stringify({ id: `cmpl-${answer.id}`, ...head, choices, ...more });
        return { name: null, data, tokens, kind: tokens > 0 ? "content" : "closing" };
      };
      for (const [index, { text, finish }] of answer.choices.entries()) {
        for (const piece of text)
          yield event([{ index, ...say(piece, false), logprobs: null, finish_reason: null }], 1);
        yield event([{ index, ...say("", false), logprobs: null, finish_reason: finish }], 0);
      }
      if (told) yield event([], 0, { usage: usageOf(answer) });
      yield { name: null, data: "[DONE]", tokens: 0, kind: "done" };
    },
  };
}

export const textCompletions = unitDialect(/(?<!\/chat)(?<!\/fim)\/completions$/, plain, (asked) =>
  reading(asked, asked.stream_options?.include_usage === true, (text) => ({ text })),
);

export const fillInTheMiddle = unitDialect(/\/fim\/completions$/, filling, (asked) =>
  reading(asked, true, (content, whole) =>
    whole ? { message: { role: "assistant", content } } : { delta: { content } },
  ),
);

// Bare completions in OpenAI's older wire, and fill-in-the-middle: what stands before and behind goes in, text comes out.
import { z } from "zod";
import type { Reading } from "../../../core/route.ts";
import { compilePlace } from "../../formats/allow-list.ts";
import { invalid } from "../../formats/parse-json.ts";
import type { TokenCounter } from "../token-counter.ts";
import type { UnitAsk, UnitEndpoint } from "../unit-endpoint.ts";

/** As of chats: of who does not say, and the most that is sold. */
const OUTPUT_TOKENS_DEFAULT = 4_096;
const OUTPUT_TOKENS_MAX = 16_384;
const CHOICES_MAX = 8;
/** What a vendor puts around prompt and suffix. */
const TOKENS_AROUND = 16;

const body = z.object({
  model: z.string().min(1).max(200),
  prompt: z.union(
    [
      z.string(),
      z
        .array(z.string())
        .length(1)
        .transform(([only]) => only ?? ""),
    ],
    "must be one text",
  ),
  suffix: z.string().nullish(),
  max_tokens: z.int().min(1).nullish(),
  min_tokens: z.int().min(0).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  n: z.int().min(1).max(CHOICES_MAX).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(16)], "must be text or a list of at most 16 texts").nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  seed: z.int().nullish(),
  logprobs: z.int().min(0).max(5).nullish(),
  user: z.string().nullish(),
});
type Body = z.infer<typeof body>;

function outputTokensMax({ max_tokens }: Body, modelMax: number | undefined): number {
  return Math.min(max_tokens ?? OUTPUT_TOKENS_DEFAULT, OUTPUT_TOKENS_MAX, modelMax ?? OUTPUT_TOKENS_MAX);
}

export const completions: UnitEndpoint<Body> = {
  operation: "text_completion",
  kind: "completion",
  task: "complete",
  schema: body,
  fields: compilePlace({
    fields: {
      ...Object.fromEntries(Object.keys(body.shape).map((name) => [name, {}])),
      prompt: { read: true, items: { read: true } },
      suffix: { read: true },
      stop: { items: {} },
      stream_options: { fields: { include_usage: {}, include_obfuscation: {} } },
      best_of: {
        refused: { why: "it makes answers that are not shown.", neutral: (value: unknown) => value === 1 },
      },
      echo: { refused: { why: "it is not offered.", neutral: (value: unknown) => value === false } },
      transforms: { refused: { why: "prompts are sent as they are.", neutral: isEmptyList } },
      plugins: { refused: { why: "plugins are billed apart.", neutral: isEmptyList } },
      usage: { ours: true },
      max_cost_cents: { ours: true },
    },
  }),
  fit({ body: asked }, { spec }) {
    if (asked.suffix != null && spec.fillsIn !== true) return invalid("suffix", "this model fills no gaps");
    const { model: _, stream, stream_options: __, n, ...sent } = asked;
    const max_tokens = outputTokensMax(asked, spec.outputTokensMax);
    const prompt = Buffer.byteLength(asked.prompt) + Buffer.byteLength(asked.suffix ?? "") + TOKENS_AROUND;
    const countsMax = { textIn: Math.min(prompt, spec.inputTokensMax ?? prompt), textOut: (n ?? 1) * max_tokens };
    const several = n == null || n === 1 ? {} : { n };
    // Usage is always asked for, and left out again where the caller did not ask.
    const options = stream === true ? { stream_options: { include_usage: true } } : {};
    const fields = Object.entries({ ...sent, ...several, ...options, max_tokens }).filter(([, value]) => value != null);
    const lowered = (asked.max_tokens ?? 0) > max_tokens ? { loweredTo: max_tokens } : {};
    return { countsMax, body: Object.fromEntries(fields), stream: stream === true, ...lowered };
  },
  answerForm({ body: { stream, stream_options } }) {
    if (stream !== true) return { kind: "json" };
    const isTold = stream_options?.include_usage === true;
    return {
      kind: "events",
      ends: (usage) =>
        `${isTold ? `data: ${JSON.stringify({ object: "text_completion", choices: [], usage })}\n\n` : ""}data: [DONE]\n\n`,
    };
  },
  answerMsMax: 120_000,
  whenCallerLeaves: "abort",
  async counted({ body: { prompt, suffix } }: UnitAsk<Body>, { delivered }: Reading, counter: TokenCounter) {
    const [textIn, textOut] = await Promise.all([
      counter.count(prompt + (suffix ?? "")),
      counter.count(delivered.text),
    ]);
    return { textIn: textIn + TOKENS_AROUND, textOut };
  },
};

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

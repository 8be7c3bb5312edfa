// Plain completions in OpenAI's legacy format, and fill-in-the-middle: takes a prompt and a suffix, returns text.
import { z } from "zod";
import type { Reading } from "../../../core/route.ts";
import { among, fields, isEmptyList, ours, refused, setting, tableOf, text } from "../../formats/field-table.ts";
import { invalid } from "../../formats/parse-json.ts";
import type { TokenCounter } from "../token-counter.ts";
import type { UnitAsk, UnitEndpoint } from "../unit-endpoint.ts";

/** Default and cap, the same as for chats. */
const OUTPUT_TOKENS_DEFAULT = 4_096;
const OUTPUT_TOKENS_MAX = 16_384;
const CHOICES_MAX = 8;
/** The overhead that a vendor adds around prompt and suffix. */
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
  fields: tableOf(body, {
    prompt: { ...text, items: text },
    suffix: text,
    stop: { items: setting },
    stream_options: fields({ include_usage: setting, include_obfuscation: setting }),
    best_of: refused("it makes answers that are not shown.", among(1)),
    echo: refused("it is not offered.", among(false)),
    transforms: refused("prompts are sent as they are.", isEmptyList),
    plugins: refused("plugins are billed apart.", isEmptyList),
    usage: ours,
  }),
  fit({ body: asked }, { spec }) {
    if (asked.suffix != null && spec.fillsIn !== true) return invalid("suffix", "this model fills no gaps");
    const { model: _, stream, stream_options: __, n, ...sent } = asked;
    const max_tokens = outputTokensMax(asked, spec.outputTokensMax);
    const prompt = Buffer.byteLength(asked.prompt) + Buffer.byteLength(asked.suffix ?? "") + TOKENS_AROUND;
    const countsMax = { textIn: Math.min(prompt, spec.inputTokensMax ?? prompt), textOut: (n ?? 1) * max_tokens };
    const several = n == null || n === 1 ? {} : { n };
    // We always request usage, and remove it where the caller did not ask for it.
    const options = stream === true ? { stream_options: { include_usage: true } } : {};
    const fields = Object.entries({ ...sent, ...several, ...options, max_tokens }).filter(([, value]) => value != null);
    const lowered = (asked.max_tokens ?? 0) > max_tokens ? { loweredTo: max_tokens } : {};
    return { countsMax, body: Object.fromEntries(fields), stream: stream === true, ...lowered };
  },
  answerForm({ body: { stream, stream_options } }) {
    if (stream !== true) return { kind: "json" };
    const showsUsage = stream_options?.include_usage === true;
    return {
      kind: "events",
      ends: (usage) =>
        `${showsUsage ? `data: ${JSON.stringify({ object: "text_completion", choices: [], usage })}\n\n` : ""}data: [DONE]\n\n`,
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

// Embeddings in OpenAI's format, charged by input tokens.
import { z } from "zod";
import { affordable, type PicoPerToken } from "../../../core/money.ts";
import type { Reading, TokenUsage } from "../../../core/route.ts";
import { unsifted } from "../../formats/chat-completions/read-body.ts";
import { setting, tableOf, text } from "../../formats/field-table.ts";
import { isOwnServer } from "../dropped-header.ts";
import type { TokenCounter } from "../token-counter.ts";
import type { UnitAsk, UnitEndpoint } from "../unit-endpoint.ts";

const ITEMS_MAX = 2_048;

const tokens = z.array(z.int().min(0)).min(1);
const body = z.object({
  model: z.string().min(1).max(200),
  input: z.union(
    [
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(ITEMS_MAX),
      tokens,
      z.array(tokens).min(1).max(ITEMS_MAX),
    ],
    `must be text, tokens, or a list of at most ${ITEMS_MAX} of either`,
  ),
  encoding_format: z.enum(["float", "base64"]).nullish(),
  dimensions: z.number().int().min(1).nullish(),
  user: z.string().nullish(),
});
type Body = z.infer<typeof body>;

/** The input as text for a token count; each token of an array becomes one word. */
function inputText({ input }: Body): string {
  return typeof input === "string" ? input : input.flat().map(String).join("\n");
}

function usageOf(usage: TokenUsage | null) {
  const { inputTokens = 0, cacheReadTokens = 0, outputTokens = 0 } = usage ?? {};
  const prompt_tokens = inputTokens + cacheReadTokens;
  return { prompt_tokens, total_tokens: prompt_tokens + outputTokens };
}

export const embeddings: UnitEndpoint<Body> = {
  operation: "embeddings",
  kind: "embeddings",
  task: "embed",
  schema: body,
  fields: tableOf(body, { input: { ...text, items: { ...text, items: setting } } }),
  fit({ body: asked, sent, sentBytes }, offer) {
    const sends = isOwnServer(offer) ? { body: unsifted(sent), isWhole: true } : { body: asked };
    return { ...sends, countsMax: { textIn: sentBytes }, stream: false };
  },
  answerForm: () => ({ kind: "json", usage: usageOf }),
  whenCallerLeaves: "abort",
  isKept: false,
  async counted(ask: UnitAsk<Body>, _: Reading, counter: TokenCounter) {
    return { textIn: await counter.count(inputText(ask.body)) };
  },
  affordable(free, { sale, offers }) {
    const longest = Math.max(...offers.map(({ spec }) => spec.inputTokensMax ?? 0));
    const paid = affordable(free, sale.rates.get("textIn") ?? (0 as PicoPerToken));
    return { affordable_input_tokens: Math.min(paid ?? longest, longest) };
  },
};

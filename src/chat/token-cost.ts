// The token meter: what an answer cost from the usage that came, or from our own count where none did.
import type { SoldEmbedding, SoldModel } from "../catalog/catalog.ts";
import { costOfUsage } from "../catalog/price.ts";
import type { Cost, Reading, TokenUsage } from "../plan.ts";
import type { ModelRoute } from "../upstream/upstream.ts";
import type { TokenCounter } from "./token-counter.ts";

/** What a count of our own needs of the prompt. */
export interface CountedPrompt {
  readonly text: () => string;
  /** Tokens of images and other parts, as bounded for the quote. */
  readonly partTokens: number;
  readonly messages: number;
}

const TOKENS_PER_MESSAGE = 4;

function priced(
  model: SoldModel | SoldEmbedding,
  served: ModelRoute,
  usage: TokenUsage,
  reading: Reading,
  estimated: boolean,
): Cost {
  return {
    chargeNano: costOfUsage(model.sale, usage),
    upstreamNano: reading.upstreamCostNano ?? costOfUsage(served.offer.cost, usage),
    usage,
    estimated,
    priceVersion: model.sale.version,
  };
}

/** Tokens of the delivered text: counted as far as it was kept, the rest by the same ratio. */
async function deliveredTokens(reading: Reading, counter: TokenCounter): Promise<number> {
  const { text, bytes } = reading.delivered;
  const tokens = await counter.count(text);
  const keptBytes = Buffer.byteLength(text);
  return keptBytes > 0 && bytes > keptBytes * 2 ? Math.ceil((tokens / keptBytes) * bytes) : tokens;
}

/**
 * The cost of an answer at the served model's sale price. Reported usage decides. A stream that the caller left has at
 * most the usage of its beginning: its output is what was delivered, by our count.
 */
export function tokenCost(
  model: SoldModel | SoldEmbedding,
  served: ModelRoute,
  reading: Reading,
  { ended, prompt, counter }: { ended: "whole" | "left"; prompt: CountedPrompt; counter: TokenCounter },
): Cost | Promise<Cost> {
  const { usage } = reading;
  if (usage !== null && ended === "whole") return priced(model, served, usage, reading, false);
  return countedCost();

  async function countedCost(): Promise<Cost> {
    const delivered = await deliveredTokens(reading, counter);
    if (usage !== null) {
      const outputTokens = Math.max(usage.outputTokens, delivered);
      return priced(model, served, { ...usage, outputTokens }, reading, outputTokens !== usage.outputTokens);
    }
    const inputTokens = (await counter.count(prompt.text())) + prompt.partTokens + TOKENS_PER_MESSAGE * prompt.messages;
    const counted = {
      inputTokens,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: delivered,
      reasoningTokens: 0,
    };
    return priced(model, served, counted, reading, true);
  }
}

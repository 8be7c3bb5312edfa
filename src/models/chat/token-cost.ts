// The token meter: what an answer cost from the usage that came, or from our own count where none did.
import type { SoldModel } from "../../catalog/catalog.ts";
import { costOfUsage, priceAt, soldUsage } from "../../catalog/price.ts";
import { ZERO } from "../../core/money.ts";
import type { Cost } from "../../core/plan.ts";
import type { Reading, TokenUsage } from "../../core/route.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { TokenCounter } from "./token-counter.ts";

/** What a count of our own needs of the prompt. */
export interface CountedPrompt {
  readonly textTokens: () => Promise<number>;
  /** Tokens of images and other parts, as bounded for the quote. */
  readonly partTokens: number;
  readonly messages: number;
}

const TOKENS_PER_MESSAGE = 4;

/** A text's tokens by our own count, made when it is first asked for and then known: several attempts may have had the same prompt. */
export function countedOnce(text: () => string, counter: TokenCounter): () => Promise<number> {
  let counting: Promise<number> | null = null;
  return () => {
    counting ??= counter.count(text());
    return counting;
  };
}

function priced(
  model: SoldModel,
  { offer }: ModelCandidate,
  counted: TokenUsage,
  reading: Reading,
  estimated: boolean,
  atMs: number,
): Cost {
  const [sale, cost] = [priceAt(model.sale, atMs), priceAt(offer.cost, atMs)];
  const usage = soldUsage(counted, { cost, sale });
  // The vendor takes nothing from us for a call with the caller's own key.
  const upstreamNano = offer.adapter.ownKey === true ? ZERO : (reading.upstreamCostNano ?? costOfUsage(cost, counted));
  return {
    chargeNano: costOfUsage(sale, usage),
    upstreamNano,
    usage,
    estimated,
    priceVersion: sale.version,
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
 * The cost of an answer at the served model's sale price of the minute in which the call was admitted, `atMs`. Reported usage decides. A stream that the caller left has at
 * most the usage of its beginning: its output is what was delivered, by our count.
 */
export function tokenCost(
  model: SoldModel,
  served: ModelCandidate,
  reading: Reading,
  {
    ended,
    prompt,
    counter,
    atMs,
  }: { ended: "whole" | "left"; prompt: CountedPrompt; counter: TokenCounter; atMs: number },
): Cost | Promise<Cost> {
  const { usage } = reading;
  if (usage !== null && ended === "whole") return priced(model, served, usage, reading, false, atMs);
  return countedCost();

  async function countedCost(): Promise<Cost> {
    const delivered = await deliveredTokens(reading, counter);
    if (usage !== null) {
      const outputTokens = Math.max(usage.outputTokens, delivered);
      return priced(model, served, { ...usage, outputTokens }, reading, outputTokens !== usage.outputTokens, atMs);
    }
    const inputTokens = (await prompt.textTokens()) + prompt.partTokens + TOKENS_PER_MESSAGE * prompt.messages;
    const counted = {
      inputTokens,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: delivered,
      reasoningTokens: 0,
    };
    return priced(model, served, counted, reading, true, atMs);
  }
}

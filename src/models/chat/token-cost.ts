// The token meter: computes an answer's cost from the vendor's reported usage, or from our own count where none came.
import type { SoldModel } from "../../catalog/catalog.ts";
import { costOfUsage, priceAt, soldUsage } from "../../catalog/price.ts";
import { ZERO } from "../../core/money.ts";
import type { Cost } from "../../core/plan.ts";
import type { Reading, TokenUsage } from "../../core/route.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { TokenCounter } from "./token-counter.ts";

/** The model that served, and the quote's bound on prompt tokens for images and other parts. */
interface ServedModel {
  readonly model: SoldModel;
  readonly partTokens: number;
}

const TOKENS_PER_MESSAGE = 4;

/** The tokens of the delivered text: counts the stored part and extrapolates to the rest. */
async function deliveredTokens(reading: Reading, counter: TokenCounter): Promise<number> {
  const { text, bytes } = reading.delivered;
  const tokens = await counter.count(text);
  const keptBytes = Buffer.byteLength(text);
  return keptBytes > 0 && bytes > keptBytes * 2 ? Math.ceil((tokens / keptBytes) * bytes) : tokens;
}

interface Prompt {
  readonly readText: () => string;
  readonly messages: number;
}

/** Prices the attempts of one call at the sale price at `atMs`, when the call was admitted. */
export class TokenMeter {
  readonly counter: TokenCounter;
  readonly #prompt: Prompt;
  readonly #atMs: number;
  /** Cached, because several attempts may share the prompt. */
  #promptTokens: Promise<number> | null = null;

  constructor(prompt: Prompt, counter: TokenCounter, atMs: number) {
    this.#prompt = prompt;
    this.counter = counter;
    this.#atMs = atMs;
  }

  /** Uses the reported usage. An abandoned stream reports at most its initial usage, so its output is what was delivered. */
  cost(
    { model, partTokens }: ServedModel,
    served: ModelCandidate,
    reading: Reading,
    ended: "whole" | "left",
  ): Cost | Promise<Cost> {
    const { usage } = reading;
    if (usage === null) return this.#estimated({ model, partTokens }, served, reading);
    return ended === "whole" ? this.#priced(model, served, reading, usage) : this.#left(model, served, reading, usage);
  }

  async #left(model: SoldModel, served: ModelCandidate, reading: Reading, usage: TokenUsage): Promise<Cost> {
    const outputTokens = Math.max(usage.outputTokens, await deliveredTokens(reading, this.counter));
    const estimated = outputTokens !== usage.outputTokens;
    return { ...this.#priced(model, served, reading, { ...usage, outputTokens }), estimated };
  }

  async #estimated({ model, partTokens }: ServedModel, served: ModelCandidate, reading: Reading): Promise<Cost> {
    const outputTokens = await deliveredTokens(reading, this.counter);
    this.#promptTokens ??= this.counter.count(this.#prompt.readText());
    const inputTokens = (await this.#promptTokens) + partTokens + TOKENS_PER_MESSAGE * this.#prompt.messages;
    const usage = { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens, reasoningTokens: 0 };
    return { ...this.#priced(model, served, reading, usage), estimated: true };
  }

  #priced(model: SoldModel, { offer }: ModelCandidate, reading: Reading, counted: TokenUsage): Cost {
    const sale = priceAt(model.sale, this.#atMs);
    const cost = priceAt(offer.cost, this.#atMs);
    const usage = soldUsage(counted, { cost, sale });
    // With the caller's own key, the vendor does not bill us.
    const isOwnKey = offer.adapter.ownKey === true;
    const upstreamNano = isOwnKey ? ZERO : (reading.upstreamCostNano ?? costOfUsage(cost, counted));
    const chargeNano = costOfUsage(sale, usage);
    return { chargeNano, upstreamNano, usage, estimated: false, priceVersion: sale.version };
  }
}

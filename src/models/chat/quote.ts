// The most that a chat request can cost: the dearest of its models, first bounded by bytes, then by a token count where money is short.
import type { SoldModel, TokenPrice } from "../../catalog/catalog.ts";
import { boundOf, dearestWithin, ratesOf } from "../../catalog/price.ts";
import { affordable, minus, most, type Nano, part, ZERO } from "../../core/money.ts";
import type { Quote, Within } from "../../core/plan.ts";
import type { Route } from "../../core/route.ts";
import type { ModelCandidate } from "../../upstream/model-candidate.ts";
import type { PromptShape } from "../formats/prompt-text.ts";
import { countedTokensMax, textTokensMax } from "./prompt-bounds.ts";
import type { TokenCounter } from "./token-counter.ts";

/** A model that can serve this request, with the bounds for its quote. */
export interface FitModel {
  readonly model: SoldModel;
  /** The index of the caller's model name that it came from. */
  readonly place: number;
  /** The time limit to first content while other candidates remain. */
  readonly firstTokenMsMax: number;
  readonly partTokens: number;
  readonly outputTokensMax: number;
  /** It receives the body unfiltered, so only the bytes bound its input. */
  readonly unsifted: boolean;
  readonly candidates: readonly ModelCandidate[];
}

export interface QuotedPrompt {
  readonly shape: PromptShape;
  readonly bodyBytes: number;
  readonly text: () => string;
  readonly choices: number;
  /** Holds of this account use the byte bound, never a count. */
  readonly strict: boolean;
}

/** Text tokens per model; runs each tokenizer at most once. */
async function countedFor(
  models: readonly FitModel[],
  { shape, text }: QuotedPrompt,
  counter: TokenCounter,
): Promise<ReadonlyMap<SoldModel, number>> {
  const sent = text();
  const counts = new Map<SoldModel["tokenizer"], number>();
  const counted = new Map<SoldModel, number>();
  for (const fit of models) {
    if (fit.unsifted) continue;
    const { tokenizer } = fit.model;
    const count = counts.get(tokenizer) ?? (await counter.countMax(sent, tokenizer));
    counts.set(tokenizer, count);
    counted.set(fit.model, countedTokensMax(shape, count));
  }
  return counted;
}

export interface QuoteParts {
  readonly counter: TokenCounter;
  /** From planning to the latest end of the call, in milliseconds since 1970; the hold uses the dearest price in between. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** The route of a subset of models, where the money does not cover all. */
  readonly routeOf: (models: readonly FitModel[]) => Route;
  /** The same model with a lower output limit, for requests that adapt their output to the money; null where they do not. */
  readonly withOutput: ((fit: FitModel, outputTokensMax: number) => FitModel) | null;
}

/** One answer may take a quarter of the free money, to leave room for concurrent calls. */
const SHARE = 4;
/** Granted to every answer that is affordable at all. */
const SHARED_TOKENS_MIN = 16_384;
/** Fewer output tokens are useless to an agent. */
const OUTPUT_TOKENS_MIN = 1_024;

const NONE_COUNTED: ReadonlyMap<SoldModel, number> = new Map();

/** Upper bounds on a request's cost: computed once per call, and again only where money is short. */
class Bounds {
  readonly #models: readonly FitModel[];
  readonly #prompt: QuotedPrompt;
  readonly #parts: QuoteParts;
  readonly #byBytes: number;
  #counted = NONE_COUNTED;

  constructor(models: readonly FitModel[], prompt: QuotedPrompt, parts: QuoteParts) {
    this.#models = models;
    this.#prompt = prompt;
    this.#parts = parts;
    this.#byBytes = textTokensMax(prompt.shape, prompt.bodyBytes);
  }

  /** A prompt longer than the model's context is never served. */
  #inputTokensMax(fit: FitModel): number {
    const textTokens = Math.min(this.#byBytes, this.#counted.get(fit.model) ?? this.#byBytes);
    return Math.min(textTokens + fit.partTokens, fit.model.contextTokens);
  }

  #held(price: TokenPrice): TokenPrice {
    return dearestWithin(price, this.#parts.fromMs, this.#parts.untilMs);
  }

  #boundFor(fit: FitModel): Nano {
    const outputTokensMax = fit.outputTokensMax * this.#prompt.choices;
    return boundOf(this.#held(fit.model.sale), { inputTokensMax: this.#inputTokensMax(fit), outputTokensMax });
  }

  of(some: readonly FitModel[]): Nano {
    let bound = ZERO;
    for (const fit of some) bound = most(bound, this.#boundFor(fit));
    return bound;
  }

  /** The output tokens per answer that `money` pays for beside the prompt. */
  #affordableOutput(fit: FitModel, money: Nano): number {
    const sale = this.#held(fit.model.sale);
    const prompted = this.#inputTokensMax(fit);
    const left = minus(money, boundOf(sale, { inputTokensMax: prompted, outputTokensMax: 0 }));
    const tokens = affordable(left, ratesOf(sale, prompted).output);
    if (tokens === null) return fit.outputTokensMax;
    return Math.min(fit.outputTokensMax, Math.floor(tokens / this.#prompt.choices));
  }

  /** The models, with output limited to what 1/`shares` of the free money pays for. */
  #lowered(free: Nano, shares: number): readonly FitModel[] {
    const { withOutput } = this.#parts;
    if (withOutput === null) return this.#models;
    return this.#models
      .map((fit) => {
        const least = Math.min(SHARED_TOKENS_MIN, Math.max(OUTPUT_TOKENS_MIN, this.#affordableOutput(fit, free)));
        const tokens = Math.max(least, this.#affordableOutput(fit, part(free, shares)));
        return tokens < fit.outputTokensMax ? withOutput(fit, tokens) : fit;
      })
      .filter(({ candidates }) => candidates.length > 0);
  }

  within(free: Nano, shares = 1): Within | null {
    const some = this.#lowered(free, shares).filter((fit) => this.#boundFor(fit) <= free);
    return some.length === 0 ? null : { nano: this.of(some), route: this.#parts.routeOf(some) };
  }

  async #count(): Promise<void> {
    if (this.#counted.size > 0) return;
    this.#counted = await countedFor(this.#models, this.#prompt, this.#parts.counter);
  }

  async tightened(): Promise<Nano> {
    await this.#count();
    return this.of(this.#models);
  }

  /** Counts the prompt's tokens if the byte bound alone would shorten the answer. */
  async share(free: Nano): Promise<Within | null> {
    const short = () =>
      this.#lowered(free, SHARE).some(
        ({ outputTokensMax }, at) => outputTokensMax !== this.#models[at]?.outputTokensMax,
      );
    if (!this.#prompt.strict && free > ZERO && short()) await this.#count();
    return this.within(free, SHARE);
  }

  affordable(free: Nano): Readonly<Record<string, number>> {
    return { affordable_output_tokens: Math.max(...this.#models.map((fit) => this.#affordableOutput(fit, free))) };
  }

  tokensMax(): number {
    const { choices } = this.#prompt;
    return Math.max(...this.#models.map((fit) => this.#inputTokensMax(fit) + fit.outputTokensMax * choices));
  }

  upstreamNano(): Nano {
    return this.#models
      .flatMap((fit) => {
        const outputTokensMax = fit.outputTokensMax * this.#prompt.choices;
        const bounds = { inputTokensMax: this.#inputTokensMax(fit), outputTokensMax };
        return fit.candidates.map(({ offer }) => boundOf(this.#held(offer.cost), bounds));
      })
      .reduce(most, ZERO);
  }
}

export function quoteOf(models: readonly FitModel[], prompt: QuotedPrompt, parts: QuoteParts): Quote {
  const bounds = new Bounds(models, prompt, parts);
  const quote: Quote = {
    nano: bounds.of(models),
    tighten: prompt.strict ? null : () => bounds.tightened(),
    within: (free) => bounds.within(free),
    affordable: (free) => bounds.affordable(free),
    tokensMax: () => bounds.tokensMax(),
    upstreamNano: () => bounds.upstreamNano(),
  };
  return parts.withOutput === null ? quote : { ...quote, share: (free) => bounds.share(free) };
}

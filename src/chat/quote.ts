// The most a chat request can cost: of several models the dearest, first by bytes, then by a count where money is short.
import type { SoldModel, TokenPrice } from "../catalog/catalog.ts";
import { boundOf, dearestWithin, ratesOf } from "../catalog/price.ts";
import { affordable, minus, most, type Nano, part, ZERO } from "../money.ts";
import type { Quote, Within } from "../plan.ts";
import type { Route } from "../route.ts";
import type { ModelCandidate } from "../upstream/model-candidate.ts";
import type { PromptShape } from "../wires/prompt-shape.ts";
import { countedTokensMax, textTokensMax } from "./prompt-bounds.ts";
import type { TokenCounter } from "./token-counter.ts";

/** A model that can serve this very request, with what bounds its quote. */
export interface FitModel {
  readonly model: SoldModel;
  /** Which of the caller's names it was opened from. */
  readonly place: number;
  /** How long it may take to its first content while another remains. */
  readonly firstTokenMsMax: number;
  readonly partTokens: number;
  readonly outputTokensMax: number;
  /** The body goes to it unsifted, so only its bytes bound what it reads. */
  readonly unsifted: boolean;
  readonly candidates: readonly ModelCandidate[];
}

export interface QuotedPrompt {
  readonly shape: PromptShape;
  readonly bodyBytes: number;
  /** All the text that is sent. */
  readonly text: () => string;
  readonly choices: number;
  /** Holds of this account are made from bytes, never from a count. */
  readonly strict: boolean;
}

/** Text tokens for each model; both tokenizers are asked at most once. */
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
  /** When the call is planned and the last moment it can end, in milliseconds since 1970: the hold is for the dearest hour between. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** The route of some of the models, where the money does not do for all. */
  readonly routeOf: (models: readonly FitModel[]) => Route;
  /** The same model with fewer output tokens, for a request whose output is lowered to what the money does for; null: it is not. */
  readonly withOutput: ((fit: FitModel, outputTokensMax: number) => FitModel) | null;
}

/** Of what is free, an answer may take one part in so many: calls beside it want some too. */
const SHARE = 4;
/** What every answer may have as long as it can be paid at all. */
const SHARED_TOKENS_MIN = 16_384;
/** Fewer are no answer to an agent. */
const OUTPUT_TOKENS_MIN = 1_024;

const NONE_COUNTED: ReadonlyMap<SoldModel, number> = new Map();

/** Makes the quote of a request to models. */
export function quoteOf(models: readonly FitModel[], prompt: QuotedPrompt, parts: QuoteParts): Quote {
  const { counter, routeOf, withOutput, fromMs, untilMs } = parts;
  const byBytes = textTokensMax(prompt.shape, prompt.bodyBytes);
  let counted = NONE_COUNTED;

  /** No prompt longer than the model's context is ever served. */
  function inputTokensMax(fit: FitModel): number {
    const textTokens = Math.min(byBytes, counted.get(fit.model) ?? byBytes);
    return Math.min(textTokens + fit.partTokens, fit.model.contextTokens);
  }

  const held = (price: TokenPrice): TokenPrice => dearestWithin(price, fromMs, untilMs);

  function boundFor(fit: FitModel): Nano {
    const outputTokensMax = fit.outputTokensMax * prompt.choices;
    return boundOf(held(fit.model.sale), { inputTokensMax: inputTokensMax(fit), outputTokensMax });
  }

  const bound = (some: readonly FitModel[]): Nano => some.map(boundFor).reduce(most);

  /** The most output tokens of each answer that `money` pays for beside the prompt. */
  function affordableOutput(fit: FitModel, money: Nano): number {
    const sale = held(fit.model.sale);
    const prompted = inputTokensMax(fit);
    const left = minus(money, boundOf(sale, { inputTokensMax: prompted, outputTokensMax: 0 }));
    const tokens = affordable(left, ratesOf(sale, prompted).output);
    return tokens === null ? fit.outputTokensMax : Math.min(fit.outputTokensMax, Math.floor(tokens / prompt.choices));
  }

  /** Each model with the output that one of `shares` equal parts of what is free pays for. */
  function lowered(free: Nano, shares: number): readonly FitModel[] {
    if (withOutput === null) return models;
    return models
      .map((fit) => {
        const least = Math.min(SHARED_TOKENS_MIN, Math.max(OUTPUT_TOKENS_MIN, affordableOutput(fit, free)));
        const tokens = Math.max(least, affordableOutput(fit, part(free, shares)));
        return tokens < fit.outputTokensMax ? withOutput(fit, tokens) : fit;
      })
      .filter(({ candidates }) => candidates.length > 0);
  }

  function within(free: Nano, shares = 1): Within | null {
    const some = lowered(free, shares).filter((fit) => boundFor(fit) <= free);
    return some.length === 0 ? null : { nano: bound(some), route: routeOf(some) };
  }

  async function count(): Promise<void> {
    if (counted.size === 0) counted = await countedFor(models, prompt, counter);
  }

  /** A prompt is counted where its bytes alone would cost the answer its length. */
  async function share(free: Nano): Promise<Within | null> {
    const short = () =>
      lowered(free, SHARE).some(({ outputTokensMax }, at) => outputTokensMax !== models[at]?.outputTokensMax);
    if (!prompt.strict && free > ZERO && short()) await count();
    return within(free, SHARE);
  }

  const quote: Quote = {
    nano: bound(models),
    tighten: prompt.strict
      ? null
      : async () => {
          await count();
          return bound(models);
        },
    within: (free) => within(free),
    affordable: (free) => ({ affordable_output_tokens: Math.max(...models.map((fit) => affordableOutput(fit, free))) }),
    tokensMax: () => Math.max(...models.map((fit) => inputTokensMax(fit) + fit.outputTokensMax * prompt.choices)),
    upstreamNano: () =>
      models
        .flatMap((fit) => {
          const outputTokensMax = fit.outputTokensMax * prompt.choices;
          const bounds = { inputTokensMax: inputTokensMax(fit), outputTokensMax };
          return fit.candidates.map(({ offer }) => boundOf(held(offer.cost), bounds));
        })
        .reduce(most, ZERO),
  };
  return withOutput === null ? quote : { ...quote, share };
}

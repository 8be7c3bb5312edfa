// The most a chat request can cost: of several models the dearest, first by bytes, then by a count where money is short.
import type { SoldModel } from "../catalog/catalog.ts";
import { boundOf, ratesOf } from "../catalog/price.ts";
import { affordable, minus, most, type Nano, ZERO } from "../money.ts";
import type { Quote } from "../plan.ts";
import type { Route } from "../route.ts";
import type { ModelCandidate } from "../upstream/upstream.ts";
import { countedTokensMax, type PromptShape, textTokensMax } from "./prompt-bounds.ts";
import type { TokenCounter } from "./token-counter.ts";

/** A model that can serve this very request, with what bounds its quote. */
export interface FitModel {
  readonly model: SoldModel;
  /** Which of the caller's names it was opened from. */
  readonly place: number;
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
  readonly outputTokensMax: number;
  /** Holds of this account are made from bytes, never from a count. */
  readonly strict: boolean;
}

/** Text tokens for each model; both tokenizers are asked at most once. */
async function countedFor(
  models: readonly FitModel[],
  { shape, text }: QuotedPrompt,
  counter: TokenCounter,
): Promise<ReadonlyMap<FitModel, number>> {
  const sent = text();
  const counts = new Map<SoldModel["tokenizer"], number>();
  const counted = new Map<FitModel, number>();
  for (const fit of models) {
    if (fit.unsifted) continue;
    const { tokenizer } = fit.model;
    const count = counts.get(tokenizer) ?? (await counter.countMax(sent, tokenizer));
    counts.set(tokenizer, count);
    counted.set(fit, countedTokensMax(shape, count));
  }
  return counted;
}

/** Makes the quote of a chat request. `routeOf` is asked for the route of some of the models, where the money does not do for all. */
export function quoteOf(
  models: readonly FitModel[],
  prompt: QuotedPrompt,
  counter: TokenCounter,
  routeOf: (models: readonly FitModel[]) => Route,
): Quote {
  const byBytes = textTokensMax(prompt.shape, prompt.bodyBytes);
  let counted: ReadonlyMap<FitModel, number> = new Map();

  /** No prompt longer than the model's context is ever served. */
  function inputTokensMax(fit: FitModel): number {
    const textTokens = Math.min(byBytes, counted.get(fit) ?? byBytes);
    return Math.min(textTokens + fit.partTokens, fit.model.contextTokens);
  }

  function boundFor(fit: FitModel): Nano {
    const outputTokensMax = fit.outputTokensMax * prompt.choices;
    return boundOf(fit.model.sale, { inputTokensMax: inputTokensMax(fit), outputTokensMax });
  }

  const bound = (some: readonly FitModel[]): Nano => some.map(boundFor).reduce(most);

  return {
    nano: bound(models),
    tighten: prompt.strict
      ? null
      : async () => {
          counted = await countedFor(models, prompt, counter);
          return bound(models);
        },
    within(free) {
      const some = models.filter((fit) => boundFor(fit) <= free);
      return some.length === 0 ? null : { nano: bound(some), route: routeOf(some) };
    },
    affordable(free) {
      // What does for one of them is enough: the others are left out.
      const each = models.map((fit) => {
        const { sale } = fit.model;
        const prompted = inputTokensMax(fit);
        const left = minus(free, boundOf(sale, { inputTokensMax: prompted, outputTokensMax: 0 }));
        const tokens = affordable(left, ratesOf(sale, prompted).output);
        return tokens === null ? prompt.outputTokensMax : Math.floor(tokens / prompt.choices);
      });
      return { affordable_output_tokens: Math.min(prompt.outputTokensMax, Math.max(...each)) };
    },
    upstreamNano: () =>
      models
        .flatMap((fit) => {
          const outputTokensMax = fit.outputTokensMax * prompt.choices;
          const bounds = { inputTokensMax: inputTokensMax(fit), outputTokensMax };
          return fit.candidates.map(({ offer }) => boundOf(offer.cost, bounds));
        })
        .reduce(most, ZERO),
  };
}

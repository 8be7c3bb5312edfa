// The most a chat request can cost: of several candidates the dearest, first by bytes, then by a count where money is short.
import type { SoldModel } from "../catalog/catalog.ts";
import { boundOf, ratesOf } from "../catalog/price.ts";
import { affordable, minus, most, type Nano, ZERO } from "../money.ts";
import type { Quote } from "../plan.ts";
import type { ModelCandidate } from "../upstream/upstream.ts";
import { countedTokensMax, type PromptShape, textTokensMax } from "./prompt-bounds.ts";
import type { TokenCounter } from "./token-counter.ts";

/** What a quote needs of a model that can serve the request. */
export interface QuotedCandidate {
  readonly model: SoldModel;
  readonly partTokens: number;
  readonly outputTokensMax: number;
  /** The body goes to it unsifted, so only its bytes bound what it reads. */
  readonly unsifted: boolean;
  readonly routes: readonly ModelCandidate[];
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

/** Text tokens of one candidate; both tokenizers are asked at most once. */
async function countedFor(
  candidates: readonly QuotedCandidate[],
  { shape, text }: QuotedPrompt,
  counter: TokenCounter,
): Promise<ReadonlyMap<QuotedCandidate, number>> {
  const sent = text();
  const counts = new Map<SoldModel["tokenizer"], number>();
  const counted = new Map<QuotedCandidate, number>();
  for (const candidate of candidates) {
    if (candidate.unsifted) continue;
    const { tokenizer } = candidate.model;
    const count = counts.get(tokenizer) ?? (await counter.countMax(sent, tokenizer));
    counts.set(tokenizer, count);
    counted.set(candidate, countedTokensMax(shape, count));
  }
  return counted;
}

/** Makes the quote of a chat request. */
export function quoteOf(candidates: readonly QuotedCandidate[], prompt: QuotedPrompt, counter: TokenCounter): Quote {
  const byBytes = textTokensMax(prompt.shape, prompt.bodyBytes);
  let counted: ReadonlyMap<QuotedCandidate, number> = new Map();

  /** No prompt longer than the model's context is ever served. */
  function inputTokensMax(candidate: QuotedCandidate): number {
    const textTokens = Math.min(byBytes, counted.get(candidate) ?? byBytes);
    return Math.min(textTokens + candidate.partTokens, candidate.model.contextTokens);
  }

  function bound(): Nano {
    const bounds = candidates.map((candidate) =>
      boundOf(candidate.model.sale, {
        inputTokensMax: inputTokensMax(candidate),
        outputTokensMax: candidate.outputTokensMax * prompt.choices,
      }),
    );
    return bounds.reduce((a, b) => most(a, b));
  }

  return {
    nano: bound(),
    tighten: prompt.strict
      ? null
      : async () => {
          counted = await countedFor(candidates, prompt, counter);
          return bound();
        },
    affordable(free) {
      const each = candidates.map((candidate) => {
        const { sale } = candidate.model;
        const prompted = inputTokensMax(candidate);
        const left = minus(free, boundOf(sale, { inputTokensMax: prompted, outputTokensMax: 0 }));
        const tokens = affordable(left, ratesOf(sale, prompted).output);
        return tokens === null ? prompt.outputTokensMax : Math.floor(tokens / prompt.choices);
      });
      return { affordable_output_tokens: Math.min(prompt.outputTokensMax, ...each) };
    },
    upstreamNano: () =>
      candidates
        .flatMap((candidate) => {
          const outputTokensMax = candidate.outputTokensMax * prompt.choices;
          const bounds = { inputTokensMax: inputTokensMax(candidate), outputTokensMax };
          return candidate.routes.map(({ offer }) => boundOf(offer.cost, bounds));
        })
        .reduce(most, ZERO),
  };
}

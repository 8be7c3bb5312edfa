// How many tokens of an answer thinking may take, where a wire wants a number and the caller said a word.
import type { Effort, ReasoningAsk } from "../../core/neutral.ts";

/** Which share of the output a word of effort may spend on thinking. */
const SHARE: Readonly<Record<Effort, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};
const SHARE_UNTOLD = 0.5;

/** Budgets up to these are the word; above the last, `high`. */
const EFFORT_OF_BUDGET = [
  [0, "none"],
  [2_048, "low"],
  [8_192, "medium"],
] as const;

/** The word for a budget, where a wire knows words alone. */
export function effortOfBudget(tokens: number): string {
  return EFFORT_OF_BUDGET.find(([most]) => tokens <= most)?.[1] ?? "high";
}

/** The effort that a request asks for, in one word; undefined: it asks for none. */
export function effortOf(ask: ReasoningAsk | null): string | undefined {
  if (ask === null) return undefined;
  if (ask.off) return "none";
  const { effort, budgetTokens } = ask;
  if (effort !== null || budgetTokens === null) return effort ?? undefined;
  return effortOfBudget(budgetTokens);
}

/** The tokens that thinking may take out of `outputTokensMax`, at least `min`, and always less than all of it. */
export function budgetOf(ask: ReasoningAsk, outputTokensMax: number, min: number): number {
  const share = ask.effort === null ? SHARE_UNTOLD : SHARE[ask.effort];
  const wanted = Math.floor(ask.budgetTokens ?? outputTokensMax * share);
  return Math.min(Math.max(wanted, min), outputTokensMax - 1);
}

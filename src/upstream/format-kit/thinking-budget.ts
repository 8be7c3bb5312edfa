// Converts between effort words and token budgets for thinking.
import type { Effort, ReasoningAsk } from "../../core/neutral.ts";

/** The share of the output that thinking may use, by effort. */
const SHARE: Readonly<Record<Effort, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};
const SHARE_UNTOLD = 0.5;

/** The highest budget of each word; `high` beyond the last. */
const EFFORT_OF_BUDGET = [
  [0, "none"],
  [2_048, "low"],
  [8_192, "medium"],
] as const;

/** The word for a budget, for wires that have only words. */
export function effortOfBudget(tokens: number): string {
  return EFFORT_OF_BUDGET.find(([most]) => tokens <= most)?.[1] ?? "high";
}

export function effortOf(ask: ReasoningAsk | null): string | undefined {
  if (ask === null) return undefined;
  if (ask.off) return "none";
  const { effort, budgetTokens } = ask;
  if (effort !== null || budgetTokens === null) return effort ?? undefined;
  return effortOfBudget(budgetTokens);
}

/** The thinking budget within `outputTokensMax`: at least `min`, and always less than the whole output. */
export function budgetOf(ask: ReasoningAsk, outputTokensMax: number, min: number): number {
  const share = ask.effort === null ? SHARE_UNTOLD : SHARE[ask.effort];
  const wanted = Math.floor(ask.budgetTokens ?? outputTokensMax * share);
  return Math.min(Math.max(wanted, min), outputTokensMax - 1);
}

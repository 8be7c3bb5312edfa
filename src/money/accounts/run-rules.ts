// Rules of runs as requests and answers write them: on a run, and as defaults on keys and groups.
import { z } from "zod";
import { centsDown, nanoFromCents } from "../../core/money.ts";
import type { RunRules } from "../../core/run.ts";
import type { RuleOfRuns } from "./rules.ts";

export const budgetField = z
  .number("must be a number of cents")
  .int("must be a whole number of cents")
  .min(1, "must be at least 1")
  .max(900_000_000, "must be at most 900000000");
const mark = z
  .union(
    [z.literal(50), z.literal(80), z.literal(95), z.null()],
    "must be 50, 80 or 95, in percent of the budget, or null",
  )
  .optional();
export const runRuleFields = {
  notice_at: mark,
  lower_at: mark,
  ask_at: mark,
  ask_seconds: z.number("must be a number of seconds").int().min(1).max(600, "must be at most 600").optional(),
  stop_at: mark,
};
const ASK_SECONDS = 60;

type RunRuleBody = z.output<z.ZodObject<typeof runRuleFields>>;

export function readRunRules(body: RunRuleBody): Partial<RunRules> {
  const { notice_at: noticeAt, lower_at: lowerAt, ask_at: askAt, ask_seconds: askSeconds, stop_at: stopAt } = body;
  const named = {
    noticeAt,
    lowerAt,
    askAt,
    askSeconds: askSeconds ?? (askAt == null ? undefined : ASK_SECONDS),
    stopAt,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

export function runRulesRow({ noticeAt, lowerAt, askAt, askSeconds, stopAt }: RunRules) {
  return { notice_at: noticeAt, lower_at: lowerAt, ask_at: askAt, ask_seconds: askSeconds, stop_at: stopAt };
}

export const ruleOfRunsFields = {
  run_rules: z.strictObject(runRuleFields).nullish(),
  run_required: z.boolean("must be true or false").nullish(),
  session_budget_cents: budgetField.nullish(),
};
type RuleOfRunsBody = z.output<z.ZodObject<typeof ruleOfRunsFields>>;

export const NO_RUN_RULES: RunRules = { noticeAt: null, lowerAt: null, askAt: null, askSeconds: 0, stopAt: null };

export function ruleOfRunsAfter(body: RuleOfRunsBody): Partial<RuleOfRuns> {
  const { run_rules: rules, run_required: runRequired, session_budget_cents: cents } = body;
  return {
    ...(rules === undefined ? {} : { runRules: rules && { ...NO_RUN_RULES, ...readRunRules(rules) } }),
    ...(runRequired === undefined ? {} : { runRequired }),
    ...(cents === undefined ? {} : { sessionBudgetNano: cents === null ? null : nanoFromCents(cents) }),
  };
}

export function ruleOfRunsRow({ runRules, runRequired, sessionBudgetNano }: Partial<RuleOfRuns>) {
  return {
    run_rules: runRules == null ? null : runRulesRow(runRules),
    run_required: runRequired ?? null,
    session_budget_cents: sessionBudgetNano == null ? null : centsDown(sessionBudgetNano),
  };
}

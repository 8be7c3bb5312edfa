// Runs the steps of an action whose requests are data: each that applies, polled until ready.
import type { RequestSpec, StepSpec } from "../catalog/request-spec.ts";
import type { Json } from "../catalog/said.ts";
import { FAILURES } from "../core/failures.ts";
import { isRecord } from "./json-pointer.ts";
import { holds, type Judgement, type VendorAnswer } from "./judge-answer.ts";
import { VendorFailure } from "./vendor-failure.ts";

/** How often in a row a poll that fails transiently is repeated. */
const POLL_FAILURES_MAX = 3;

/** The outcome of an action's requests: success, or nothing found. */
export interface ActionResult {
  readonly answer: VendorAnswer;
  readonly miss: boolean;
  /** Replaces the vendor's body for the caller; undefined: the body itself. */
  readonly data: Json | undefined;
}

/** How the requests are made and judged. */
export interface StepRunner {
  ask(asked: {
    readonly spec: RequestSpec;
    /** The index of the request; 0 is the action's own. */
    readonly at: number;
    readonly soFar: unknown;
    readonly afterMs: number;
  }): Promise<VendorAnswer>;
  /** Throws VendorFailure if the answer is a failure. */
  judge(answer: VendorAnswer, step: StepSpec): Judgement;
}

export type Judged = Judgement & { readonly answer: VendorAnswer };

export function resultOf({ answer, verdict, rule }: Judged): ActionResult {
  return { answer, miss: verdict === "miss", data: rule?.data };
}

/** `first`: the answer to the action's own request. Throws VendorFailure. */
export async function runSteps(steps: readonly StepSpec[], first: Judged, runner: StepRunner): Promise<ActionResult> {
  let last = first;
  for (const [index, step] of steps.entries()) {
    if (last.verdict === "miss") break;
    if (step.when !== undefined && !holds(step.when, last.answer)) continue;
    const next = await answerOf(step, index + 1, last.answer, runner);
    last = { ...next, answer: step.merge === true ? laidOver(last.answer, next.answer) : next.answer };
  }
  return resultOf(last);
}

/** The step's answer; for a polled step, the first that is ready. */
async function answerOf(step: StepSpec, at: number, before: VendorAnswer, runner: StepRunner): Promise<Judged> {
  const { until, everyMs = 0, request } = step;
  const ask = async () => {
    const answer = await runner.ask({ spec: request, at, soFar: before.json, afterMs: everyMs });
    return { ...runner.judge(answer, step), answer };
  };
  if (until === undefined) return ask();
  for (let failures = 0; ; ) {
    try {
      const judged = await ask();
      if (judged.verdict === "miss" || holds(until, judged.answer)) return judged;
      failures = 0;
    } catch (error) {
      // A transient failure of a poll says nothing about the job that it polls.
      const passing = error instanceof VendorFailure && FAILURES[error.failure.kind].sameRoute;
      if (!passing || ++failures > POLL_FAILURES_MAX) throw error;
    }
  }
}

/** Merges an answer's fields over the earlier ones. */
function laidOver(before: VendorAnswer, answer: VendorAnswer): VendorAnswer {
  if (!isRecord(before.json) || !isRecord(answer.json)) return answer;
  const json = { ...before.json, ...answer.json };
  return { ...answer, json, text: JSON.stringify(json) };
}

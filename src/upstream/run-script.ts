// Runs an action whose requests come from a function of its adapter's: provides its context, and interprets how it ends.
import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { RequestSpec } from "../catalog/request-spec.ts";
import type { JsonObject, Params } from "../catalog/said.ts";
import type { AskSpec, Messages, Script, ScriptContext } from "../catalog/script.ts";
import { bounded } from "../core/clock.ts";
import type { FailureKind } from "../core/failures.ts";
import type { AttemptFailure } from "../core/route.ts";
import { failureOf, type Judgement, type VendorAnswer } from "./judge-answer.ts";
import type { ActionResult } from "./run-steps.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";

export interface ScriptAsk {
  readonly spec: RequestSpec;
  readonly values: Params;
  /** The number of earlier requests. */
  readonly at: number;
  readonly afterMs: number;
  readonly msMax?: number;
  readonly messages?: Messages;
}

export interface ScriptOptions {
  readonly params: Params;
  readonly key: string;
  /** The call's id, for its label. */
  readonly callId: string;
  /** Default: none. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Signs a token. Default: signing throws. */
  readonly token?: (claims: JsonObject, lifeS: number) => string;
  readonly msMax: number;
  /** Aborted if the call ends before the script. */
  readonly signal: AbortSignal;
  readonly ask: (ask: ScriptAsk) => Promise<VendorAnswer>;
  /** Throws VendorFailure if the answer is a failure. */
  readonly judge: (answer: VendorAnswer) => Judgement;
}

/** The label that identifies a call of ours to a vendor: it does not reveal the caller, and cannot be guessed from another. */
export function labelOf(callId: string): string {
  return `tg-${hash("sha256", callId).slice(0, 24)}`;
}

/** Unwinds a script from any depth when nothing was found. */
class Missed extends Error {
  readonly result: ActionResult;

  constructor(result: ActionResult) {
    super("nothing was found");
    this.result = result;
  }
}

const LATE = Symbol();
const NO_ANSWER: VendorAnswer = { status: 0, headers: {}, json: undefined, text: "", bytes: Buffer.alloc(0) };

/** Throws VendorFailure, or any exception of the script's. */
export async function runScript(script: Script, options: ScriptOptions): Promise<ActionResult> {
  const { params, key, signal, msMax } = options;
  const answers: VendorAnswer[] = [];
  let asked = 0;
  let ended = false;

  async function ask(spec: RequestSpec, how: AskSpec): Promise<VendorAnswer> {
    const { judged = true, accepts = [], ...rest } = how;
    try {
      const answer = await options.ask({ values: {}, afterMs: 0, ...rest, spec, at: asked++ });
      answers.push(answer);
      if (!judged || accepts.includes(answer.status)) return answer;
      const { verdict, rule } = options.judge(answer);
      if (verdict === "miss") throw new Missed({ answer, miss: true, data: rule?.data });
      return answer;
    } catch (error) {
      // A script may catch every error and ask again, so let its deadline fire in between; after the deadline it gets no more answers.
      await setImmediate();
      if (ended) await new Promise(() => {});
      throw error;
    }
  }

  const context: ScriptContext = {
    params,
    key,
    get label() {
      return labelOf(options.callId);
    },
    settings: options.settings ?? {},
    token(claims, lifeS) {
      if (options.token === undefined) throw new Error("nothing signs tokens here");
      return options.token(claims, lifeS);
    },
    signal,
    ask(spec, how = {}) {
      const answer = ask(spec, how);
      // A script may ignore this answer, so its rejection must not count as unhandled.
      answer.catch(() => {});
      return answer;
    },
    end(verdict, { message, data } = {}) {
      if (verdict !== "miss") throw new VendorFailure(endOf(verdict, message, answers));
      throw new Missed({ answer: answers.at(-1) ?? NO_ANSWER, miss: true, data: data ?? null });
    },
  };

  try {
    // A script may wait for things other than answers, so it runs against its time limit and the end of its call.
    const result = await bounded<unknown>(() => script(context), LATE, { msMax, signal });
    if (result === LATE) throw new VendorFailure(failureOfKind("provider_timeout", "the script did not end in time"));
    return resultOf(result, answers.at(-1) ?? NO_ANSWER);
  } catch (error) {
    if (error instanceof Missed) return error.result;
    throw error;
  } finally {
    ended = true;
  }
}

function endOf(kind: FailureKind, message: string | undefined, answers: readonly VendorAnswer[]): AttemptFailure {
  const last = answers.at(-1);
  if (last === undefined) return { ...failureOfKind(kind, message ?? kind), mayHaveRun: false };
  const failure = failureOf(last, kind, null, null);
  const mayHaveRun = answers.length > 1 || failure.mayHaveRun === true;
  return { ...failure, message: message ?? failure.message, mayHaveRun };
}

function resultOf(json: unknown, last: VendorAnswer): ActionResult {
  if (typeof json !== "object" || json === null)
    throw new VendorFailure(failureOfKind("provider_malformed", "the script came to no object and no array"));
  const text = JSON.stringify(json);
  const { status, headers } = last;
  return { answer: { status, headers, json, text, bytes: Buffer.from(text) }, miss: false, data: undefined };
}

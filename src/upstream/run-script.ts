// Runs an action whose requests come from a function of its adapter's: provides its context, and interprets how it ends.
import { hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { Adapter } from "../catalog/catalog.ts";
import type { RequestSpec } from "../catalog/request-spec.ts";
import type { JsonObject, Params } from "../catalog/said.ts";
import type { AskSpec, Messages, Script, ScriptContext } from "../catalog/script.ts";
import type { SessionContext } from "../catalog/session.ts";
import type { FailureKind } from "../core/failures.ts";
import type { AttemptFailure } from "../core/route.ts";
import type { ActionCandidateParts } from "./action-candidate.ts";
import { buildRequest } from "./build-request.ts";
import { retryAfterMs } from "./classify.ts";
import { failureOf, type Judgement, judge, type VendorAnswer } from "./read-answer.ts";
import type { ActionResult } from "./run-steps.ts";
import { VendorClient } from "./vendor-client.ts";
import { failureOfKind, readableFailure, VendorFailure } from "./vendor-failure.ts";

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
    return resultOf(await inTime(script(context), msMax, signal), answers.at(-1) ?? NO_ANSWER);
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

/** A script may wait for things other than answers, so it runs against its time limit and the end of its call. */
async function inTime<T>(running: Promise<T>, msMax: number, signal: AbortSignal): Promise<T> {
  const late = Promise.withResolvers<never>();
  const giveUp = () =>
    late.reject(new VendorFailure(failureOfKind("provider_timeout", "the script did not end in time")));
  const timer = setTimeout(giveUp, msMax);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([running, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

// Runs an adapter's script outside any call: paced by the vendor's rate limit, within a time limit, with failures like any attempt's.

export interface ScriptOrder {
  readonly adapter: Adapter;
  /** The name that identifies its requests to the sandbox. */
  readonly name: string;
  readonly requestId: string;
  /** The time limit of the whole script, in milliseconds. */
  readonly msMax: number;
  readonly sandboxFault: string | null;
  readonly signal: AbortSignal;
}

function headersOf({ adapter, name, requestId, sandboxFault }: ScriptOrder, at: number): Record<string, string> {
  if (adapter.isSandbox !== true) return {};
  const named = { "x-request-id": requestId, "x-tollgate-sandbox-action": name, "x-tollgate-sandbox-step": String(at) };
  return sandboxFault === null ? named : { ...named, "x-tollgate-sandbox-fault": sandboxFault };
}

/** Returns the script's result. Throws VendorFailure, or an exception of the script's. */
export async function runVendorScript<T>(
  script: (context: SessionContext) => Promise<T>,
  order: ScriptOrder,
  { dispatcher, clock, ringOf, restKey, limiter, loginOf }: ActionCandidateParts,
): Promise<T> {
  const { adapter, requestId, msMax, signal } = order;
  const { rules = [], rate } = adapter.spec;
  const key = ringOf(adapter).take();
  const client = new VendorClient({
    adapter,
    msMax,
    dispatcher,
    clock,
    login: loginOf(adapter, key),
    acquire: (request) => limiter.acquire(adapter.origin, adapter.isSandbox === true ? undefined : rate, request),
  });
  // A good status suffices: the script itself reads what it needs.
  const rulebook = { rules, wantsJson: false, errorFails: false };
  const judged = (answer: VendorAnswer): Judgement => {
    const judgement = judge(answer, rulebook);
    const { verdict, rule } = judgement;
    if (verdict === "success" || verdict === "miss") return judgement;
    const failure = failureOf(answer, verdict, rule, retryAfterMs(answer.headers, clock.epochMs()));
    throw new VendorFailure(client.answers > 1 ? { ...failure, mayHaveRun: true } : failure);
  };
  const request = (spec: RequestSpec, at: number, values: Readonly<Record<string, unknown>>) => {
    const wire = buildRequest({ adapter, spec, params: values, row: null, soFar: undefined });
    return { ...wire, ownConnection: true as const, headers: { ...wire.headers, ...headersOf(order, at) } };
  };
  const stop = () => client.abort();
  signal.addEventListener("abort", stop, { once: true });
  let came: { readonly value: T } | null = null;
  try {
    const counted = { params: {}, key, callId: requestId, msMax, signal, judge: judged };
    const all: Script = async (context) => {
      came = { value: await script(context) };
      return {};
    };
    await runScript(all, {
      ...counted,
      ask: ({ spec, values, at, ...how }) => {
        const redirectsMax = spec.redirectsMax ?? 0;
        return client.ask({ ...how, build: () => request(spec, at, values), redirectsMax, splice: null });
      },
    });
    if (came === null) throw new VendorFailure(failureOfKind("provider_malformed", "the vendor found nothing"));
    return (came as { readonly value: T }).value;
  } catch (error) {
    if (!(error instanceof VendorFailure)) throw error;
    const told = readableFailure(error.failure, key);
    if (told.restMs !== undefined && adapter.isSandbox !== true) limiter.rest(adapter.origin, told.restMs);
    throw new VendorFailure(told.status === 0 ? told : restKey(adapter, key, told));
  } finally {
    signal.removeEventListener("abort", stop);
    client.abort();
  }
}

// One attempt at an action with one vendor: sends its requests, as steps or from a script, and checks each answer against the rules.
import type { ActionSpec } from "../catalog/action.ts";
import type { ActionOffer } from "../catalog/catalog.ts";
import type { RequestSpec, StepSpec } from "../catalog/request-spec.ts";
import type { Params } from "../catalog/said.ts";
import type { Script } from "../catalog/script.ts";
import { isRecord } from "../core/json.ts";
import type { AnswerSink, Attempt, AttemptFailure, Reading } from "../core/route.ts";
import type { ActionCandidateParts, ActionOrder, ReadyAction } from "./action-candidate.ts";
import { buildRequest, type WireRequest } from "./build-request.ts";
import { retryAfterMs } from "./classify.ts";
import { failureOf, type Judgement, judge, looksIntoBody, type VendorAnswer } from "./judge-answer.ts";
import { missingFrom } from "./missing-from.ts";
import { NOTHING_READ } from "./nothing-read.ts";
import { runScript } from "./run-script.ts";
import { type ActionResult, type Judged, resultOf, runSteps } from "./run-steps.ts";
import { signed } from "./sign-jwt.ts";
import { Splice } from "./splice.ts";
import { type Question, VendorClient } from "./vendor-client.ts";
import { failureOfKind, readableFailure, VendorFailure } from "./vendor-failure.ts";

/** Hooks around an attempt; they count toward its deadline. An exception fails the attempt. */
export interface Around {
  /** Runs before the first request. */
  before(): Promise<void>;
  /** Gets a good answer, if it is an object; returns what the caller gets in its place. */
  after(answer: object): Promise<object>;
}

/** A call of an action at one vendor. */
export interface VendorCall {
  readonly offer: ActionOffer;
  readonly order: ActionOrder;
  readonly parts: ActionCandidateParts;
  readonly key: string;
}

interface Asked extends Pick<Question, "afterMs" | "msMax" | "messages"> {
  readonly spec: RequestSpec;
  /** The index within the call. */
  readonly at: number;
  /** The answer so far; undefined for the first request. */
  readonly soFar?: unknown;
  /** A script's values; they replace the call's params. */
  readonly values?: Params | undefined;
}

const JSON_ANSWER: NonNullable<ActionSpec["answer"]> = { kind: "json" };

class ActionAttempt implements Attempt {
  readonly #call: VendorCall;
  readonly #msMax: number;
  readonly #sink: AnswerSink;
  readonly #ready: ReadyAction;
  readonly #client: VendorClient;
  readonly #splice: Splice | null;
  /** Stops a script, which may be busy with something other than a request. */
  #ending: AbortController | null = null;
  #result: ActionResult | null = null;
  #answer: unknown;
  #over = false;

  constructor(call: VendorCall, msMax: number, sink: AnswerSink) {
    this.#call = call;
    this.#msMax = msMax;
    this.#sink = sink;
    const { offer, order, parts, key } = call;
    const { adapter, spec } = offer;
    this.#ready = parts.readyOf(offer);
    // The sandbox has no rate limit, and one sandbox account must not delay another.
    const rate = order.sandbox === null ? (spec.rate ?? adapter.spec.rate) : undefined;
    const { payerId, paying, callId = order.requestId } = order;
    const sidecar = parts.sidecarOf(adapter, key);
    this.#client = new VendorClient({
      ...parts,
      adapter,
      msMax,
      login: parts.loginOf(adapter, key, paying && { ...paying, callId, sandbox: order.sandbox !== null }),
      sidecar: payerId === undefined ? sidecar : (sidecar?.of(payerId) ?? null),
      acquire: (request) => parts.limiter.acquire(this.#limiterKey, rate, request),
    });
    const { preamble } = order;
    this.#splice = preamble === null || looksIntoBody(adapter.spec, spec) ? null : new Splice(preamble, sink);
  }

  get #limiterKey(): string {
    const { adapter, spec, id } = this.#call.offer;
    return spec.rate === undefined ? adapter.origin : `${adapter.origin} ${id}`;
  }

  async start(): Promise<void> {
    try {
      const { offer, order } = this.#call;
      const { around = null } = order;
      // Nearly every call is a single request: it awaits nothing else.
      if (around !== null) await around.before();
      const { request: spec, run, steps = [] } = offer.spec;
      let result: ActionResult;
      if (run !== undefined) result = await this.#script(run);
      else {
        if (spec === undefined) throw new Error("an action without request and run");
        const answer = await this.#ask({ spec, at: 0, afterMs: 0 });
        const judged = { ...this.#judge(answer, null), answer };
        result = steps.length === 0 ? resultOf(judged) : await this.#steps(steps, judged);
      }
      this.#finish(around === null ? result : await this.#changed(result, around));
    } catch (error) {
      this.#fail(error instanceof VendorFailure ? error.failure : this.#broken(error));
    }
  }

  pause(): void {
    this.#client.pause();
  }

  resume(): void {
    this.#client.resume();
  }

  abort(): void {
    this.#over = true;
    this.#client.abort();
    this.#ending?.abort();
  }

  accepted(): boolean {
    return this.#client.accepted;
  }

  reading(): Reading {
    const bytes = this.#splice?.bytes || (this.#result?.answer.bytes.length ?? 0);
    const cost = { delivered: { text: "", bytes }, upstreamCostNano: this.#client.paidNano };
    return { ...NOTHING_READ, ...cost, answer: this.#answer, miss: this.#result?.miss ?? false };
  }

  #script(run: Script): Promise<ActionResult> {
    const { offer, order, parts, key } = this.#call;
    const { adapter } = offer;
    const { params, callId = order.requestId } = order;
    this.#ending = new AbortController();
    return runScript(run, {
      params,
      key,
      callId,
      settings: adapter.settings,
      token(claims, lifeS) {
        const nowS = Math.floor(parts.clock.epochMs() / 1_000);
        return signed(adapter, claims, { key, lifeS, nowS });
      },
      msMax: this.#msMax,
      signal: this.#ending.signal,
      ask: (asked) => this.#ask(asked),
      judge: (answer) => this.#judge(answer, null),
    });
  }

  #steps(steps: readonly StepSpec[], first: Judged): Promise<ActionResult> {
    return runSteps(steps, first, {
      ask: (asked) => this.#ask(asked),
      judge: (answer, step) => this.#judge(answer, step),
    });
  }

  #ask({ spec, at, soFar, values, ...how }: Asked): Promise<VendorAnswer> {
    const { run, answer = JSON_ANSWER } = this.#call.offer.spec;
    // Truncated JSON fails to parse; truncated text, bytes or script input would go unnoticed.
    const isJson = run === undefined && answer.kind === "json";
    const build = (): WireRequest => {
      const built = this.#build(spec, { at, soFar, values });
      return isJson ? built : { ...built, ownConnection: true };
    };
    return this.#client.ask({ ...how, build, redirectsMax: spec.redirectsMax ?? 0, splice: this.#splice });
  }

  /** Throws UnbuildableRequest. */
  #build(spec: RequestSpec, { at, soFar, values }: Pick<Asked, "at" | "soFar" | "values">): WireRequest {
    const { offer, order } = this.#call;
    const { id, adapter } = offer;
    const wire =
      values === undefined
        ? buildRequest({ ...order, adapter, spec, soFar, ready: this.#ready.request(spec) })
        : buildRequest({ adapter, spec, params: values, row: null, soFar: undefined });
    if (order.sandbox === null) return wire;
    const { fault } = order.sandbox;
    const ours = {
      "x-request-id": order.requestId,
      "x-tollgate-sandbox-action": id.slice(adapter.id.length + 1),
      "x-tollgate-sandbox-step": String(at),
      ...(fault === null ? {} : { "x-tollgate-sandbox-fault": fault }),
    };
    return { ...wire, headers: { ...wire.headers, ...ours } };
  }

  /** Applies the rules to an answer. Throws VendorFailure if it is a failure. */
  #judge(answer: VendorAnswer, step: StepSpec | null): Judgement {
    const { order, parts } = this.#call;
    const judgement = judge(answer, this.#ready.rulebook(step, order.params));
    const { verdict, rule } = judgement;
    if (verdict === "success" || verdict === "miss") return judgement;
    const failure = failureOf(answer, verdict, rule, retryAfterMs(answer.headers, parts.clock.epochMs()));
    // Earlier requests of this call have already taken effect.
    throw new VendorFailure(this.#client.answers > 1 ? { ...failure, mayHaveRun: true } : failure);
  }

  async #changed(result: ActionResult, around: Around): Promise<ActionResult> {
    const { answer, miss } = result;
    if (this.#over || miss || typeof answer.json !== "object" || answer.json === null) return result;
    this.#hold(result);
    const json = await around.after(answer.json);
    return { ...result, answer: { ...answer, json, text: JSON.stringify(json) } };
  }

  /** Throws VendorFailure if the answer lacks a promised field. */
  #hold({ answer, miss, data }: ActionResult): void {
    const { offer, order } = this.#call;
    const missing = miss || data !== undefined ? null : missingFrom(answer, offer.spec, order.params);
    if (missing !== null)
      throw new VendorFailure({ ...failureOfKind("provider_malformed", missing, answer.status), mayHaveRun: true });
  }

  #finish(result: ActionResult): void {
    if (this.#over) return;
    this.#hold(result);
    const { answer } = result;
    this.#result = result;
    const json = this.#textOf(result);
    this.#over = true;
    this.#sink.done(answer.passedOn ? { kind: "stream", tail: Buffer.alloc(0) } : { kind: "body", body: { json } });
  }

  /** Returns the answer as the caller's text, and keeps the part that must be read. */
  #textOf({ answer, data }: ActionResult): string {
    const shape = this.#call.offer.spec.answer ?? JSON_ANSWER;
    const contentType = String(answer.headers["content-type"] ?? "application/octet-stream");
    if (data !== undefined) this.#answer = data;
    else if (shape.kind === "bytes") this.#answer = { contentType, bytes: answer.bytes };
    else if (shape.kind === "text") this.#answer = { [shape.as]: answer.text, content_type: contentType };
    else this.#answer = answer.json;
    if (data === undefined && shape.kind === "bytes") return "";
    const renamed = shape.kind === "json" ? shape.renamed : undefined;
    const asItCame = data === undefined && shape.kind === "json" && answer.json !== undefined;
    if (asItCame && renamed === undefined) return answer.text;
    return JSON.stringify(asItCame ? withNames(this.#answer, renamed ?? {}) : this.#answer) ?? "null";
  }

  /** Classifies an unexpected exception, such as from an answer nested too deep to serialize, or from a script that did not expect it. */
  #broken(error: unknown): AttemptFailure {
    const { answers, status } = this.#client;
    if (answers === 0) return { ...failureOfKind("gateway_internal", String(error)), mayHaveRun: false };
    return { ...failureOfKind("provider_malformed", String(error), status), mayHaveRun: true };
  }

  /** Ends the attempt with a failure, once, and aborts its requests. */
  #fail(failure: AttemptFailure): void {
    if (this.#over) return;
    this.abort();
    const { offer, order, parts, key } = this.#call;
    const { shown } = this.#client;
    if (failure.restMs !== undefined && order.sandbox === null) parts.limiter.rest(this.#limiterKey, failure.restMs);
    const readable = readableFailure(failure, [key, ...shown].join("\n"), order.restore);
    // A failure before the vendor answered, such as a permit timeout, is not the key's fault.
    const told = failure.status === 0 ? readable : parts.restKey(offer.adapter, key, readable);
    this.#sink.failed(shown.length === 0 ? told : { ...told, spareKey: false, mayHaveRun: true, wasPaid: true });
  }
}

function withNames(answer: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!isRecord(answer)) return answer;
  // A vendor may call a field `constructor`, which every object has.
  const nameOf = (name: string) => (Object.hasOwn(names, name) ? (names[name] ?? name) : name);
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [nameOf(name), value]));
}

/** Starts an attempt; its first request leaves once the vendor's rate limiter permits it. `msMax` is the time limit of all its requests. */
export function openActionAttempt(call: VendorCall, msMax: number, sink: AnswerSink): Attempt {
  const attempt = new ActionAttempt(call, msMax, sink);
  // An exception in a sink must not end the process.
  attempt.start().catch(() => attempt.abort());
  return attempt;
}

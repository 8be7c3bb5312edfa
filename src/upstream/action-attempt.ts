// One attempt at an action with one vendor: sends its requests, as steps or from a script, and checks each answer against the rules.
import type { Dispatcher } from "undici";
import type { ActionSpec } from "../catalog/action.ts";
import type { ActionOffer } from "../catalog/catalog.ts";
import type { RequestSpec, StepSpec } from "../catalog/request-spec.ts";
import type { Params } from "../catalog/said.ts";
import type { Clock } from "../core/clock.ts";
import { isRecord } from "../core/json.ts";
import type { AnswerSink, Attempt, AttemptFailure, Reading } from "../core/route.ts";
import type { Login } from "./access-tokens.ts";
import type { ReadyAction } from "./action-candidate.ts";
import type { WireRequest } from "./build-request.ts";
import { retryAfterMs } from "./classify.ts";
import { missingFrom } from "./missing-from.ts";
import { failureOf, type Judgement, judge, type VendorAnswer } from "./read-answer.ts";
import { runScript } from "./run-script.ts";
import { type ActionResult, resultOf, runSteps } from "./run-steps.ts";
import type { AskedSidecar } from "./sidecar/sidecar.ts";
import { signed } from "./sign-jwt.ts";
import { Splice } from "./splice.ts";
import { type Question, VendorClient } from "./vendor-client.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";
import type { NoPermit, Permit, PermitRequest } from "./vendor-rate-limiter.ts";

/** Hooks around an attempt; they count toward its deadline. An exception fails the attempt. */
export interface Around {
  /** Runs before the first request. */
  before(): Promise<void>;
  /** Gets a good answer, if it is an object; returns what the caller gets in its place. */
  after(answer: object): Promise<object>;
}

/** The index of a request within its call, and its inputs. */
export interface BuildParts {
  readonly at: number;
  /** The answer so far; undefined for the first request. */
  readonly soFar?: unknown;
  /** A script's values; they replace the call's params. */
  readonly values?: Params;
}

export interface ActionAttemptOptions {
  readonly offer: ActionOffer;
  /** Prepared from `offer`. */
  readonly ready: ReadyAction;
  readonly params: Params;
  /** Our key; a script reads it. */
  readonly key: string;
  /** The call's id, for a script's label. */
  readonly callId: string;
  readonly around: Around | null;
  /** Throws UnbuildableRequest. */
  readonly build: (spec: RequestSpec, parts: BuildParts) => WireRequest;
  /** Bytes to write before an answer that is streamed through unread; null if none is. */
  readonly preamble: Buffer | null;
  /** Asks the vendor's rate limiter for a permit; the permit may include a wait. */
  readonly acquire: (request: PermitRequest) => Permit | NoPermit;
  /** The time limit of the whole attempt, in milliseconds. */
  readonly msMax: number;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  /** The process that replaces the vendor's HTTP API; null if the vendor has one. */
  readonly sidecar: AskedSidecar | null;
  readonly login: Login;
  /** `shown` lists payment details that the failure must not reveal. */
  readonly onFailure: (failure: AttemptFailure, shown: readonly string[]) => AttemptFailure;
}

const FIRST: BuildParts = { at: 0 };
const AT_ONCE = { afterMs: 0 };
const JSON_ANSWER: NonNullable<ActionSpec["answer"]> = { kind: "json" };

class ActionAttempt implements Attempt {
  readonly #options: ActionAttemptOptions;
  readonly #sink: AnswerSink;
  readonly #client: VendorClient;
  readonly #splice: Splice | null;
  /** Stops a script, which may be busy with something other than a request. */
  #ending: AbortController | null = null;
  #result: ActionResult | null = null;
  #answer: unknown;
  #over = false;

  constructor(options: ActionAttemptOptions, sink: AnswerSink) {
    this.#options = options;
    this.#sink = sink;
    const { offer, acquire, msMax, dispatcher, clock, sidecar, login } = options;
    this.#client = new VendorClient({ adapter: offer.adapter, acquire, msMax, dispatcher, clock, sidecar, login });
    this.#splice = options.preamble === null ? null : new Splice(options.preamble, sink);
  }

  async start(): Promise<void> {
    try {
      const { around, offer } = this.#options;
      if (around !== null) await around.before();
      const { request, run, steps = [] } = offer.spec;
      // Fast path: nearly every action is a single request and needs no step runner.
      const isOne = request !== undefined && run === undefined && steps.length === 0;
      const result = isOne ? this.#only(await this.#ask(request, FIRST, AT_ONCE)) : await this.#run();
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
    const common = {
      usage: null,
      delivered: { text: "", bytes },
      upstreamCostNano: this.#client.paidNano,
      skippedEvents: 0,
    };
    return { ...common, answer: this.#answer, miss: this.#result?.miss ?? false };
  }

  #only(answer: VendorAnswer): ActionResult {
    return resultOf(answer, this.#judge(answer, null));
  }

  #run(): Promise<ActionResult> {
    const { offer, params, key, callId, msMax } = this.#options;
    const { spec } = offer;
    if (spec.run !== undefined) {
      const ending = new AbortController();
      const { signal } = ending;
      this.#ending = ending;
      return runScript(spec.run, {
        params,
        key,
        callId,
        settings: offer.adapter.settings,
        token: (claims, lifeS) => {
          const nowS = Math.floor(this.#options.clock.epochMs() / 1_000);
          return signed(offer.adapter, claims, { key, lifeS, nowS });
        },
        msMax,
        signal,
        ask: ({ spec: request, values, at, ...how }) => this.#ask(request, { at, values }, how),
        judge: (answer) => this.#judge(answer, null),
      });
    }
    return runSteps({
      spec,
      ask: ({ spec: request, at, soFar, afterMs }) => this.#ask(request, { at, soFar }, { afterMs }),
      judge: (answer, step) => this.#judge(answer, step),
    });
  }

  #ask(
    request: RequestSpec,
    parts: BuildParts,
    how: Pick<Question, "afterMs" | "msMax" | "messages">,
  ): Promise<VendorAnswer> {
    const { spec } = this.#options.offer;
    // Truncated JSON fails to parse; truncated text, bytes or script input would go unnoticed.
    const isJson = spec.run === undefined && (spec.answer ?? JSON_ANSWER).kind === "json";
    const build = (): WireRequest => {
      const built = this.#options.build(request, parts);
      return isJson ? built : { ...built, ownConnection: true };
    };
    return this.#client.ask({ ...how, build, redirectsMax: request.redirectsMax ?? 0, splice: this.#splice });
  }

  /** Applies the rules to an answer. Throws VendorFailure if it is a failure. */
  #judge(answer: VendorAnswer, step: StepSpec | null): Judgement {
    const { ready, clock, params } = this.#options;
    const judgement = judge(answer, ready.rulebook(step, params));
    const { verdict, rule } = judgement;
    if (verdict === "success" || verdict === "miss") return judgement;
    const failure = failureOf(answer, verdict, rule, retryAfterMs(answer.headers, clock.epochMs()));
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
    const { offer, params } = this.#options;
    const missing = miss || data !== undefined ? null : missingFrom(answer, offer.spec, params);
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
    const shape = this.#options.offer.spec.answer ?? JSON_ANSWER;
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
    const { shown } = this.#client;
    const told = this.#options.onFailure(failure, shown);
    this.#sink.failed(shown.length === 0 ? told : { ...told, spareKey: false, mayHaveRun: true, wasPaid: true });
  }
}

/** Renames an object's top-level fields to the caller's names. */
function withNames(answer: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!isRecord(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).map(([name, value]) => [names[name] ?? name, value]));
}

/** Starts an attempt; its first request leaves once the vendor's rate limiter permits it. */
export function openActionAttempt(options: ActionAttemptOptions, sink: AnswerSink): Attempt {
  const attempt = new ActionAttempt(options, sink);
  // An exception in a sink must not end the process.
  attempt.start().catch(() => attempt.abort());
  return attempt;
}

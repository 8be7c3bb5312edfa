// Calls that our own functions make: planned like any other, within their parent's funds, and legs of its posting.
import type {
  ChatAnswer,
  InnerAnswer,
  InnerCalls,
  InnerModels,
  OwnDone,
  OwnWork,
  SpeechAnswer,
  WantedCall,
  WantedChat,
  WantedSpeech,
} from "../../catalog/local-action.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { parsedJson, stringOf } from "../../core/json.ts";
import { add, most, ZERO } from "../../core/money.ts";
import type { AnswerReader, Audience, Ended, Plan } from "../../core/plan.ts";
import type { Candidate, Leg, ToldCost } from "../../core/route.ts";
import { execute } from "../../kernel/execute.ts";
import type { OuterCall, PlannedCall, PlannedCalls } from "../../kernel/inner-call.ts";
import { ParentFunds, type Spending } from "../../kernel/parent-funds.ts";
import { race } from "../../kernel/routes/race.ts";
import { WholeAnswer } from "../../kernel/whole-answer.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import type { RunDeps } from "./deps.ts";
import { OURSELVES } from "./local-candidate.ts";
import { type InnerPlan, innerPlan } from "./run-plan.ts";

interface Left {
  /** One per call in order of start, so that a leg's number is known when its call begins. */
  readonly legs: Leg[];
  /** Attempts that did not serve but may have cost us something. */
  readonly failed: Leg[];
  /** Unfinished calls; their cost is known when they end. */
  readonly running: Set<Promise<unknown>>;
}

interface InnerCall {
  readonly id: string;
  readonly msMax: number | undefined;
  /** Absent: the answer is read whole. */
  readonly reader?: AnswerReader;
}

interface InnerEnd {
  readonly ended: Ended;
  readonly ms: number;
}

/** Allowlists apply to the outer call only; our functions may call anything. */
const EVERYTHING = { services: null, models: null } as const;

class Calls implements PlannedCalls {
  readonly #outer: OuterCall;
  readonly #deps: RunDeps;
  readonly #audience: Audience;
  readonly #left: Left;

  constructor(outer: OuterCall, deps: RunDeps, left: Left = { legs: [...outer.legs], failed: [], running: new Set() }) {
    this.#outer = outer;
    this.#deps = deps;
    const { payer } = outer;
    this.#left = left;
    this.#audience = { sandbox: payer.sandbox, payer, allows: EVERYTHING, strictBounds: false };
  }

  call(wanted: WantedCall): Promise<InnerAnswer> {
    return this.race([wanted]);
  }

  race(wanted: readonly WantedCall[]): Promise<InnerAnswer> {
    return this.#planning(wanted.map(({ action }) => action).join(","), async (at, id) => {
      const plans: InnerPlan[] = [];
      for (const one of wanted)
        plans.push(await innerPlan(one, { ...this.#outer, id, audience: this.#audience }, this.#deps));
      const msMax = wanted.reduce((most, one) => Math.max(most, one.msMax ?? Number.POSITIVE_INFINITY), 0);
      const { ended, ms } = await this.#execute(raced(plans.map(({ plan }) => plan)), at, { id, msMax });
      return answerOf(ended, plans, ms);
    });
  }

  chat(wanted: WantedChat): Promise<ChatAnswer> {
    return this.#planning(wanted.model, async (at, id) => {
      const plan = this.#deps.chatPlan(wanted, { requestId: this.#outer.requestId, audience: this.#audience });
      const { ended, ms } = await this.#execute(plan, at, { id, msMax: wanted.msMax });
      const answer = bodyOf(ended);
      if (answer instanceof GatewayError) return { ok: false, id, error: answer, ms };
      const text = stringOf(atPointer(answer, "/choices/0/message/content")) ?? "";
      return { ok: true, id, model: ended.served?.model ?? wanted.model, json: parsedJson(text) ?? null, ms };
    });
  }

  speak(wanted: WantedSpeech): Promise<SpeechAnswer> {
    return this.#planning(wanted.model, async (at, id) => {
      const plan = this.#deps.speechPlan(wanted, { requestId: this.#outer.requestId, audience: this.#audience });
      const reader = new WholeAnswer();
      const { ended, ms } = await this.#execute(plan, at, { id, msMax: wanted.msMax, reader });
      const { error, final } = ended;
      if (error !== null || final?.kind !== "stream")
        return { ok: false, id, error: error ?? new GatewayError("internal_error"), ms };
      return { ok: true, id, bytes: Buffer.concat([reader.streamed(), final.tail]), ms };
    });
  }

  async planned({ name, plan, reader }: PlannedCall): Promise<Ended> {
    const { at, id } = this.#begin(name);
    const { ended } = await this.#execute(plan, at, { id, msMax: undefined, reader });
    if (ended.charge !== null) this.tell(id, { action: null, ok: true, nano: ended.charge.chargedNano });
    return ended;
  }

  tell(id: string, told: ToldCost): void {
    const leg = this.#left.legs[Number(id.slice(id.lastIndexOf(".") + 1)) - 1];
    if (leg !== undefined) leg.told = told;
  }

  async own<T>({ name, countsNano, run, outcome }: OwnWork<T>): Promise<OwnDone<T>> {
    const { clock } = this.#deps.kernel;
    const fromMs = clock.elapsedMs();
    const startedAtMs = clock.epochMs();
    const done = await run();
    const came = outcome(done);
    if (came === "not_made") return { id: null, done };
    const { at, id } = this.#begin(name, startedAtMs);
    const leg = this.#left.legs[at];
    const ms = clock.elapsedMs() - fromMs;
    const counts = countsNano === undefined ? {} : { ownNano: countsNano };
    const failure = came === "answered" ? null : came;
    if (leg !== undefined) this.#left.legs[at] = { ...leg, failure, ms, own: true, ...counts };
    return { id, done };
  }

  legs(): readonly Leg[] {
    return [...this.#left.legs, ...this.#left.failed];
  }

  async ended(): Promise<readonly Leg[]> {
    await Promise.allSettled(this.#left.running);
    return this.legs();
  }

  paidBy(spend: Spending): InnerCalls & InnerModels {
    return new Calls({ ...this.#outer, spend }, this.#deps, this.#left);
  }

  #begin(name: string, startedAtMs = this.#deps.kernel.clock.epochMs()): { readonly at: number; readonly id: string } {
    const at = this.#left.legs.length;
    const leg = { provider: OURSELVES, model: name, status: 0, failure: "gateway_stopped", ms: 0 } as const;
    this.#left.legs.push({ ...leg, startedAtMs, firstTokenMs: null, upstreamNano: ZERO });
    return { at, id: `${this.#outer.id}.${at + 1}` };
  }

  /** Runs a plan within the outer call, and records its legs. */
  async #execute(plan: Plan, at: number, how: InnerCall): Promise<InnerEnd> {
    const running = this.#runs(plan, at, how);
    this.#left.running.add(running);
    try {
      return await running;
    } finally {
      this.#left.running.delete(running);
    }
  }

  async #runs(plan: Plan, at: number, { id, msMax, reader = new WholeAnswer() }: InnerCall): Promise<InnerEnd> {
    const { clock } = this.#deps.kernel;
    const fromMs = clock.elapsedMs();
    const { payer, signal, spend, id: parent } = this.#outer;
    const deadlineMs = Math.min(this.#outer.deadlineMs, fromMs + (msMax ?? Number.POSITIVE_INFINITY));
    const funds = new ParentFunds(spend);
    const ended = await execute(plan, { id, payer, funds, parent, signal, deadlineMs, reader }, this.#deps.kernel);
    const ms = clock.elapsedMs() - fromMs;
    this.#note(at, ended, ms);
    return { ended, ms };
  }

  /** Begins a call and runs `work`. An error in its plan, before anything is held, is the call's answer. */
  async #planning<Answer>(name: string, work: (at: number, id: string) => Promise<Answer>) {
    const { at, id } = this.#begin(name);
    try {
      return await work(at, id);
    } catch (thrown) {
      const error = refusalIn(thrown);
      const leg = this.#left.legs[at];
      if (leg !== undefined) this.#left.legs[at] = { ...leg, failure: "caller_invalid", status: error.status };
      return { ok: false, id, error, ms: 0 } as const;
    }
  }

  /** The leg of the attempt that served replaces the call's own; failed attempts go to a list behind all calls. */
  #note(at: number, { legs, error }: Ended, ms: number): void {
    const answered = error === null ? legs.findLast(({ failure }) => failure === null) : undefined;
    // A call that was aborted has no answered leg; its last leg stands for it.
    const served = answered ?? legs.at(-1);
    const before = this.#left.legs[at];
    // The leg lasts from the call's first attempt to the end of the one that served.
    if (served !== undefined) this.#left.legs[at] = { ...served, ...beganAt(before), ms };
    else if (before !== undefined) this.#left.legs[at] = { ...before, status: error?.status ?? 0, ms };
    this.#left.failed.push(...legs.filter((leg) => leg !== served));
  }
}

function beganAt(leg: Leg | undefined): Pick<Leg, "startedAtMs"> {
  return leg?.startedAtMs === undefined ? {} : { startedAtMs: leg.startedAtMs };
}

/** Races the plans of several actions: the quote is the highest of them, and our cost may be their sum. */
function raced(all: readonly Plan[]): Plan {
  const [first] = all;
  if (first === undefined) throw new Error("a call names at least one action");
  if (all.length === 1) return first;
  // A race sends all its calls, so a write could happen more than once.
  if (all.some(({ effect }) => effect === "write"))
    throw new GatewayError("internal_error", { cause: new Error("a race is for actions that only read") });
  const ownerOf = (candidate: Candidate): Plan => {
    const owner = all.find(({ route }) => route.has(candidate));
    if (owner === undefined) throw new Error("served by a candidate of no plan");
    return owner;
  };
  return {
    ...first,
    asked: all.map(({ asked }) => asked).join(","),
    quote: {
      nano: all.map(({ quote }) => quote.nano).reduce(most, ZERO),
      tighten: null,
      affordable: () => ({}),
      upstreamNano: () => all.map(({ quote }) => quote.upstreamNano()).reduce(add, ZERO),
    },
    hold: all.find(({ hold }) => hold.kind !== "none")?.hold ?? first.hold,
    route: race(all.map(({ route }) => route)),
    wholeMsMax: all.reduce((sum, { wholeMsMax }) => sum + wholeMsMax, 0),
    attemptsMax: all.reduce((sum, { attemptsMax }) => sum + attemptsMax, 0),
    cost: (served, reading, ended) => ownerOf(served).cost(served, reading, ended),
    async prepare(final, served, reading) {
      const { prepare } = ownerOf(served);
      return prepare === null ? final : prepare(final, served, reading);
    },
  };
}

function bodyOf({ served, final, error }: Ended): Record<string, unknown> | GatewayError {
  if (error !== null || served === null || final?.kind !== "body") return error ?? new GatewayError("internal_error");
  return final.body;
}

function answerOf(ended: Ended, plans: readonly InnerPlan[], ms: number): InnerAnswer {
  const { id, served, final, cost, charge, legs } = ended;
  const body = bodyOf(ended);
  const owner = served === null ? undefined : plans.find(({ plan }) => plan.route.has(served));
  if (body instanceof GatewayError || !owner || !served || !final || !cost || !charge)
    return { ok: false, id, error: body instanceof GatewayError ? body : new GatewayError("internal_error"), ms };
  const data: unknown = JSON.parse(String(owner.frame.last(final, cost, charge, legs)));
  const isMiss = ended.reading?.miss === true;
  return { ok: true, id, action: owner.action, provider: served.provider, data, isMiss, ms };
}

/** Adds inner calls to the dependencies, so that our functions can call actions themselves. */
export function openRun(parts: Omit<RunDeps, "innerCalls">): RunDeps {
  const run: RunDeps = { ...parts, innerCalls: (outer) => new Calls(outer, run) };
  return run;
}

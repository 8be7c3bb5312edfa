// Runs a model's calls: checks each and reserves its price before any runs, then runs all in parallel and returns each result to the model.
import type { InnerCalls } from "../../catalog/local-action.ts";
import type { JsonObject } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";
import { add, minus, NANO_PER_CENT, type Nano, nanoFromCents, ZERO } from "../../core/money.ts";
import type {
  ActionBlock,
  ActionCall,
  AnswerCallBlock,
  NeutralBlock,
  NeutralEvent,
  ToolResultBlock,
} from "../../core/neutral.ts";
import type { ActionUse, Payer } from "../../core/plan.ts";
import type { PlannedCalls } from "../../kernel/inner-call.ts";
import type { Spend, Spending } from "../../kernel/parent-funds.ts";
import type { ActingDeps, KnownAction } from "./deps.ts";
import { finishedJob } from "./finished-job.ts";
import type { OfferedTool, ToolBounds } from "./offered-tools.ts";
import { cutText, dataText, refusalText } from "./result-text.ts";

/** The most bytes of arguments; a model that writes more has gone astray. */
export const ARGUMENTS_BYTES_MAX = 100_000;

export interface ActionCallsParts {
  readonly tools: ReadonlyMap<string, OfferedTool>;
  readonly calls: PlannedCalls;
  readonly spend: Spend;
  readonly payer: Payer;
  readonly callsMax: number;
  readonly deps: ActingDeps;
  /** On `clock.elapsedMs()`. */
  readonly deadlineMs: number;
  /** Aborted when the caller disconnects or the call is stopped. */
  readonly left: AbortSignal;
  tell(event: NeutralEvent): void;
}

export interface Acted {
  /** One per call, in the same order. */
  readonly results: readonly ToolResultBlock[];
  readonly blocks: readonly ActionBlock[];
}

type Decided =
  | { readonly run: KnownAction; readonly params: Json; readonly nano: Nano; readonly tool: OfferedTool }
  | { readonly told: string; readonly isError: boolean };

/** Calls and money that one of the caller's tools has used of its bounds. */
interface Taken {
  calls: number;
  nano: Nano;
}

/** Spends from its parent and counts what one call spent. */
class Meter implements Spending {
  readonly counted;
  readonly #spend: Spend;
  spentNano = ZERO;

  constructor(spend: Spend) {
    this.#spend = spend;
    this.counted = spend.counted;
  }

  setAside(amount: Nano): boolean {
    return this.#spend.setAside(amount);
  }

  settle(aside: Nano, spent: Nano): void {
    this.spentNano = add(this.spentNano, spent);
    this.#spend.settle(aside, spent);
  }
}

function refused(error: GatewayError): Decided {
  return { told: refusalText(error), isError: true };
}

function notRun(why: string): Decided {
  return { told: JSON.stringify({ error: "not_run", message: why }), isError: true };
}

const TOO_DEAR = "There is no money left for this call. Answer with what you have.";
const TOO_MANY = "No more calls of actions are run for this answer. Answer with what you have.";

export class ActionCalls {
  readonly #parts: ActionCallsParts;
  readonly #taken = new Map<ToolBounds, Taken>();
  /** Null while the call runs. */
  readonly #uses: (ActionUse | null)[] = [];
  #left: number;

  constructor(parts: ActionCallsParts) {
    this.#parts = parts;
    this.#left = parts.callsMax;
  }

  get left(): number {
    return this.#left;
  }

  uses(): readonly ActionUse[] {
    return this.#uses.filter((use) => use !== null);
  }

  /** `hasRoom` is true if the amount can be spent and the model can still answer. */
  async run(calls: readonly AnswerCallBlock[], hasRoom: (nano: Nano) => Promise<boolean>): Promise<Acted> {
    let batchNano = ZERO;
    const decided: Decided[] = [];
    for (const call of calls) {
      const one = await this.#decide(call, async (nano) => hasRoom(add(batchNano, nano)));
      if ("run" in one) batchNano = add(batchNano, one.nano);
      decided.push(one);
    }
    const blocks: ActionBlock[] = [];
    const results = await Promise.all(
      calls.map(async (call, at): Promise<ToolResultBlock> => {
        const one = decided[at];
        if (one === undefined) throw new Error("every call is decided on");
        if (!("run" in one)) return resultOf(call, one.told, one.isError);
        const block = await this.#call(call, one);
        blocks.push(block);
        return resultOf(call, block.output, !block.ok);
      }),
    );
    return { results, blocks };
  }

  /** The result of a call, cut to `charsMax` characters. */
  shortened(block: NeutralBlock, charsMax: number): NeutralBlock {
    if (block.kind !== "tool-result" || typeof block.content !== "string") return block;
    return { ...block, content: cutText(block.content, charsMax) };
  }

  async #decide(call: AnswerCallBlock, hasRoom: (nano: Nano) => Promise<boolean>): Promise<Decided> {
    const tool = this.#parts.tools.get(call.name);
    if (tool === undefined) return notRun("There is no such function.");
    const args = argumentsOf(call.arguments);
    if (typeof args === "string") return notRun(args);
    const wanted = tool.wanted(args);
    if (wanted instanceof GatewayError) return refused(wanted);
    if (this.#left <= 0) return notRun(TOO_MANY);
    if (wanted.kind === "told") {
      this.#left -= 1;
      return { told: dataText(await wanted.data), isError: false };
    }
    const { action, params } = wanted;
    const nano = this.#parts.deps.actions.price(action.id, params, this.#parts.payer);
    if (nano instanceof GatewayError) return refused(nano);
    const taken = this.#takenOf(tool.bounds);
    const { callsMax, costCentsMax } = tool.bounds;
    if (callsMax !== null && taken.calls >= callsMax)
      return notRun(`${call.name} may be called ${callsMax} times for an answer. Answer with what you have.`);
    if (costCentsMax !== null && add(taken.nano, nano) > nanoFromCents(costCentsMax)) return notRun(TOO_DEAR);
    if (!(await hasRoom(nano))) return notRun(TOO_DEAR);
    this.#left -= 1;
    taken.calls += 1;
    taken.nano = add(taken.nano, nano);
    return { run: action, params, nano, tool };
  }

  #takenOf(bounds: ToolBounds): Taken {
    const known = this.#taken.get(bounds);
    if (known !== undefined) return known;
    const taken = { calls: 0, nano: ZERO };
    this.#taken.set(bounds, taken);
    return taken;
  }

  async #call(
    call: AnswerCallBlock,
    { run, params, nano, tool }: Extract<Decided, { run: unknown }>,
  ): Promise<ActionBlock> {
    const { calls, spend, tell, deps, deadlineMs, left } = this.#parts;
    const begun: ActionCall = {
      id: call.id,
      action: run.id,
      name: call.name,
      arguments: call.arguments,
      hosted: tool.hosted,
    };
    tell({ kind: "action-begun", choice: 0, action: begun });
    const meter = new Meter(spend);
    const inner: InnerCalls = calls.paidBy(meter);
    const place = this.#uses.length;
    this.#uses.push(null);
    const first = await inner.call({ action: run.id, params: params as JsonObject });
    const answer = await finishedJob(first, { calls: inner, clock: deps.clock, deadlineMs, left });
    const taken = this.#takenOf(tool.bounds);
    taken.nano = add(minus(taken.nano, nano), meter.spentNano);
    const { ok } = answer;
    const cents = meter.spentNano / NANO_PER_CENT;
    this.#uses[place] = { action: run.id, cents, ok };
    calls.tell(first.id, { action: run.id, ok, nano: meter.spentNano });
    const sources = ok ? (tool.found?.(answer.data) ?? []) : [];
    const told = ok && tool.found !== undefined ? sources : ok ? answer.data : null;
    const output = ok ? dataText(told) : refusalText(answer.error);
    const block: ActionBlock = { ...begun, kind: "action", ok, cents, output, sources };
    tell({ kind: "action-done", choice: 0, action: block });
    return block;
  }
}

/** The parsed object, or the model's error text where it is not one. */
function argumentsOf(text: string): Json | string {
  if (text.trim() === "") return {};
  const bytes = Buffer.from(text);
  if (bytes.length > ARGUMENTS_BYTES_MAX) return `The arguments have more than ${ARGUMENTS_BYTES_MAX} bytes.`;
  const read = readJson(bytes);
  if (!("json" in read)) return `The arguments are no JSON: ${read.wrong}`;
  return isRecord(read.json) ? read.json : "The arguments must be a JSON object.";
}

function resultOf({ id, name }: AnswerCallBlock, content: string, isError: boolean): ToolResultBlock {
  return { kind: "tool-result", callId: id, name, content, isError, cacheMark: false };
}

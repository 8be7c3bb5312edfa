// Runs one answer of a tool loop: rounds of the model, with its actions between them, until it calls no more.
import type { FramedPlan, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { add, least, type Nano, usdText } from "../../core/money.ts";
import type {
  AnswerBlock,
  AnswerCallBlock,
  NeutralBlock,
  NeutralTurn,
  Source,
  ToolChoice,
  ToolResultBlock,
} from "../../core/neutral.ts";
import type { ActionUse, AnswerReader, Ended, Payer, Plan } from "../../core/plan.ts";
import type { Candidate, FinalPart, TokenUsage } from "../../core/route.ts";
import { NO_USAGE, sumUsage } from "../../core/token-usage.ts";
import type { PlannedCalls } from "../../kernel/inner-call.ts";
import type { Spend } from "../../kernel/parent-funds.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import { type ActionCalls, ARGUMENTS_BYTES_MAX } from "./action-calls.ts";
import { CITED, citationsIn } from "./cited.ts";
import type { ActingDeps } from "./deps.ts";
import { keptKey } from "./kept-turns.ts";
import type { OfferedTool } from "./offered-tools.ts";
import { type RoundParts, roundRequest } from "./round-request.ts";
import { type Round, type Transcript, textOf } from "./transcript.ts";

/** The most rounds with actions; in the one after them the model has to answer. */
export const ROUNDS_MAX = 8;
/** The output tokens to leave room for, so that the model can still report its actions' results. */
export const ANSWER_TOKENS_MIN = 1_024;
/** The shortest that an action's result is cut to where there is no room for more. */
const SHORT_RESULT_CHARS = 1_000;
const SHORTER_CHARS = [5_000, SHORT_RESULT_CHARS];
/** The stop reason where the money ran out. */
const NO_MONEY = "max_cost_cents";
const TOO_MANY = "max_tool_calls";

export interface ActingCall {
  readonly call: PlanCall;
  readonly base: ModelRequest;
  readonly bodyBytes: number;
  readonly payer: Payer;
  readonly tools: ReadonlyMap<string, OfferedTool>;
  readonly turns: readonly NeutralTurn[];
  readonly transcript: Transcript;
  /** The first round, already planned and priced. */
  readonly first: FramedPlan;
}

/** Reads the rounds of one answer, and relays them to the caller. */
export interface RoundReader extends AnswerReader {
  /** The candidate whose content came first; null: none yet. */
  readonly first: Candidate | null;
  /** Called before each round. */
  begins(): void;
  content(bytes: Uint8Array): void;
}

export interface RunParts extends ActingCall {
  readonly calls: PlannedCalls;
  readonly actions: ActionCalls;
  readonly spend: Spend;
  readonly reader: RoundReader;
  readonly deps: ActingDeps;
}

interface RoundWanted {
  /** The model may call actions in this round. */
  readonly mayAct: boolean;
  /** Default: the caller's limit. */
  readonly outputTokens?: number | null;
  /** An allowance for results that are not there yet. */
  readonly moreBytes?: number;
}

/** The result: the answer's final part, an error for the caller, or null where the caller has disconnected. */
export type RunEnd = FinalPart | GatewayError | null;

export interface RunTotals {
  readonly usage: TokenUsage | null;
  readonly estimated: boolean;
  readonly priceVersion: string;
  readonly uses: readonly ActionUse[];
}

/** The plan as part of this answer: the idempotency key, the bound and the cap apply to the whole call only. */
function asPart(plan: Plan): Plan {
  return { ...plan, idempotency: null, inference: false, maxCostNano: null, whenCallerLeaves: "abort" };
}

/** The plan for at most `free`; null if it cannot fit. */
export async function fitted(plan: Plan, free: Nano): Promise<Plan | null> {
  const { quote } = plan;
  if (quote.nano <= free) return plan;
  const tight = quote.tighten === null ? quote.nano : least(quote.nano, await quote.tighten());
  const { within: _, tighten: __, ...rest } = quote;
  if (tight <= free) return { ...plan, quote: { ...rest, nano: tight, tighten: null } };
  const within = quote.within?.(free) ?? null;
  return within === null
    ? null
    : { ...plan, route: within.route, quote: { ...rest, nano: within.nano, tighten: null } };
}

/** True if the round was truncated or stopped by its vendor; none of its calls is complete. */
function isCut({ reason }: Round): boolean {
  return reason === "length" || reason === "content_filter";
}

/**
 * How an answer ends when its next round is refused for its content: what was already sent is charged. Null: the answer failed and is not
 * charged, because a rejection without a reason may be the fault of our own encoding.
 */
function endsFor({ code }: GatewayError): Round["reason"] | null {
  if (code === "content_policy_violation") return "content_filter";
  return code === "context_length_exceeded" ? "length" : null;
}

/** A block as history for the model. Blocks that no wire accepts in a prompt, such as images it made, are dropped. */
function remembered(block: AnswerBlock): readonly NeutralBlock[] {
  if (block.kind === "text") return block.text === "" ? [] : [{ kind: "text", text: block.text, cacheMark: false }];
  if (block.kind === "tool-call") {
    const isTooLong = block.arguments.length > ARGUMENTS_BYTES_MAX;
    return [{ ...block, arguments: isTooLong ? "{}" : block.arguments, cacheMark: false }];
  }
  return block.kind === "reasoning" ? [block] : [];
}

export class ActingRun {
  readonly #parts: RunParts;
  readonly #since: NeutralTurn[] = [];
  /** Collected for a non-streamed answer. */
  readonly #blocks: AnswerBlock[] = [];
  readonly #sources: Source[] = [];
  #usage: TokenUsage | null = null;
  #estimated = false;
  #versions = new Set<string>();
  #served: Candidate | null = null;
  #stay: string | null = null;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  /** The candidate of the first answering round; null: none has answered yet. */
  get served(): Candidate | null {
    return this.#served ?? this.#parts.reader.first;
  }

  totals(): RunTotals {
    return {
      usage: this.#usage,
      estimated: this.#estimated,
      priceVersion: [...this.#versions].join(","),
      uses: this.#parts.actions.uses(),
    };
  }

  /** Rejects only on an internal fault. */
  async run(): Promise<RunEnd> {
    for (let rounds = 0; ; rounds++) {
      const mayAct = rounds < ROUNDS_MAX && this.#parts.actions.left > 0;
      const ended = await this.#ask(rounds, mayAct);
      if (ended === "no_money") return this.#finish({ blocks: [], reason: "length", native: NO_MONEY });
      if (ended === null) return null;
      if (ended instanceof GatewayError) return rounds > 0 ? this.#refused(ended) : ended;
      const round = this.#took(ended);
      const calls = round.blocks.filter((block): block is AnswerCallBlock => block.kind === "tool-call");
      const ours = calls.filter(({ name }) => this.#parts.tools.has(name));
      this.#say(round);
      const own = calls.find(({ name }) => !this.#parts.tools.has(name)) ?? null;
      if (ours.length === 0 || isCut(round)) return this.#end(round, own);
      // The model was told that no more calls run, and still has nothing else to say.
      if (!mayAct) return this.#end({ ...round, reason: "length", native: TOO_MANY }, own);
      const results = await this.#act(ours);
      this.#remember(round, results);
      if (this.#parts.reader.closed) return null;
      if (own !== null) return this.#end(round, own);
    }
  }

  #refused(error: GatewayError): FinalPart | GatewayError {
    const reason = endsFor(error);
    return reason === null ? error : this.#finish({ blocks: [], reason, native: error.code });
  }

  /** Runs a round; null where the reader has disconnected. */
  async #ask(rounds: number, mayAct: boolean): Promise<Ended | GatewayError | "no_money" | null> {
    const { spend } = this.#parts;
    const framed = rounds === 0 ? this.#parts.first : this.#planned({ mayAct });
    if (framed instanceof GatewayError) return rounds > 0 ? this.#askShorter(framed, mayAct) : framed;
    let plan = await fitted(asPart(framed.plan), spend.freeNano);
    if (plan === null && rounds > 0) plan = await this.#shorter(mayAct);
    if (plan === null) return rounds > 0 ? "no_money" : new GatewayError("max_cost_exceeded", this.#needs(framed.plan));
    const ended = await this.#askOnce(plan);
    return rounds > 0 && ended instanceof GatewayError ? this.#askShorter(ended, mayAct) : ended;
  }

  async #askOnce(plan: Plan): Promise<Ended | GatewayError | null> {
    const { calls, reader } = this.#parts;
    if (reader.closed) return null;
    reader.begins();
    const ended = await calls.planned({ name: plan.asked, plan, reader });
    this.#count(ended);
    if (ended.outcome === "left_before_content" || ended.outcome === "left_after_content") return null;
    if (ended.error !== null) return ended.error;
    if (ended.served !== null) this.#served ??= ended.served;
    this.#stay ??= ended.served?.healthKey ?? null;
    return ended;
  }

  /** Retries with shorter results after the model refused the round as too long. */
  async #askShorter(refusal: GatewayError, mayAct: boolean): Promise<Ended | GatewayError | null> {
    let told: Ended | GatewayError | null = refusal;
    for (const charsMax of SHORTER_CHARS) {
      if (!(told instanceof GatewayError) || told.code !== "context_length_exceeded") return told;
      const plan = await this.#cutTo(charsMax, mayAct);
      if (plan !== null) told = await this.#askOnce(plan);
    }
    return told;
  }

  #needs(plan: Plan) {
    return { detail: { needed_usd: usdText(plan.quote.nano) }, param: "max_cost_cents" };
  }

  #planned({ mayAct, outputTokens = null, moreBytes = 0 }: RoundWanted): FramedPlan | GatewayError {
    const { deps, transcript, call, base } = this.#parts;
    const made = (toolChoice: ToolChoice | null) => {
      const parts = { ...this.#roundParts(), toolChoice, outputTokens, moreBytes, stay: this.#stay };
      return deps.planRound(call, roundRequest(parts, transcript));
    };
    // A forced call has already been made.
    const choice = base.asked.neutral().toolChoice;
    if (mayAct) return made(choice?.mode === "none" ? choice : null);
    const answered = made({ mode: "none" });
    // Some vendors cannot forbid calls; such calls are then ignored.
    return answered instanceof GatewayError ? made(null) : answered;
  }

  #roundParts(): Pick<RoundParts, "base" | "bodyBytes" | "tools" | "turns" | "since"> {
    const { base, bodyBytes, tools, turns } = this.#parts;
    return { base, bodyBytes, tools: [...tools.values()].map(({ told }) => told), turns, since: this.#since };
  }

  /** Cuts the latest results further until an answer to them fits; null if it never does. */
  async #shorter(mayAct: boolean): Promise<Plan | null> {
    for (const charsMax of SHORTER_CHARS) {
      const plan = await this.#cutTo(charsMax, mayAct);
      if (plan !== null) return plan;
    }
    return null;
  }

  /** The plan of the next round with the latest results cut to `charsMax`; null: no such round, or no money for it. */
  async #cutTo(charsMax: number, mayAct: boolean): Promise<Plan | null> {
    const { spend, actions } = this.#parts;
    const last = this.#since.pop();
    if (last === undefined) return null;
    this.#since.push({ ...last, blocks: last.blocks.map((block) => actions.shortened(block, charsMax)) });
    const framed = this.#planned({ mayAct });
    return framed instanceof GatewayError ? null : fitted(asPart(framed.plan), spend.freeNano);
  }

  #took(ended: Ended): Round {
    const { transcript, reader } = this.#parts;
    if (ended.final?.kind === "body") return transcript.whole(ended.final.body);
    const { round, rest } = transcript.streamed();
    reader.content(rest);
    return round;
  }

  #count({ cost }: Ended): void {
    if (cost === null) return;
    if (cost.usage !== null) this.#usage = sumUsage(this.#usage ?? NO_USAGE, cost.usage);
    this.#estimated ||= cost.estimated;
    this.#versions.add(cost.priceVersion);
  }

  /** Adds the parts of a round that the caller sees to a non-streamed answer. */
  #say({ blocks }: Round): void {
    const { tools, transcript } = this.#parts;
    const isNext = this.#blocks.some((block) => block.kind === "text" && block.text !== "");
    const told = blocks.filter((block) => block.kind !== "tool-call" || !tools.has(block.name));
    this.#blocks.push(...transcript.apart(told, isNext));
  }

  #cite(round: Round): void {
    const { transcript, reader } = this.#parts;
    const text = textOf(round);
    if (text === "" || this.#sources.length === 0) return;
    const citations = citationsIn(text, this.#sources, transcript.textFrom(round));
    for (const json of citations)
      reader.content(transcript.write({ kind: "citation", choice: 0, format: CITED, json }));
    const at = this.#blocks.findLastIndex((block) => block.kind === "text" && block.text !== "");
    const block = this.#blocks[at];
    const told = citations.map((json) => ({ format: CITED, json }));
    if (block?.kind === "text") this.#blocks[at] = { ...block, citations: [...block.citations, ...told] };
  }

  async #act(ours: readonly AnswerCallBlock[]): Promise<readonly ToolResultBlock[]> {
    const { actions, spend } = this.#parts;
    const hasRoom = this.#answerRoom(ours.length);
    const { results, blocks } = await actions.run(ours, (nano) => hasRoom(nano, spend.freeNano));
    this.#blocks.push(...blocks);
    this.#sources.push(...blocks.flatMap(({ sources }) => sources));
    return results;
  }

  /** Checks that after spending `nano` out of `free`, an answer to the results of `count` actions is still affordable. */
  #answerRoom(count: number): (nano: Nano, free: Nano) => Promise<boolean> {
    const moreBytes = count * SHORT_RESULT_CHARS;
    const framed = this.#planned({ mayAct: false, outputTokens: ANSWER_TOKENS_MIN, moreBytes });
    if (framed instanceof GatewayError) return async () => false;
    const { nano: byBytes, tighten } = framed.plan.quote;
    let counted: Promise<Nano> | null = null;
    return async (nano, free) => {
      if (add(nano, byBytes) <= free) return true;
      if (tighten === null || nano >= free) return false;
      counted ??= tighten();
      return add(nano, await counted) <= free;
    };
  }

  #remember({ blocks }: Round, results: readonly ToolResultBlock[]): void {
    this.#since.push({ role: "assistant", blocks: blocks.flatMap(remembered) });
    this.#since.push({ role: "user", blocks: results });
  }

  /** If the model called a function of the caller's (`own`), the action results are kept until the caller returns with its output. */
  async #end(round: Round, own: AnswerCallBlock | null): Promise<FinalPart> {
    const { deps, payer, base } = this.#parts;
    this.#cite(round);
    const hasActed = this.#since.length > 0;
    if (own !== null && hasActed) {
      if (this.#since.at(-2)?.blocks.some((block) => block.kind === "tool-call" && block.id === own.id) !== true)
        this.#since.push({ role: "assistant", blocks: round.blocks.flatMap(remembered) });
      await deps.turns.keep(payer, keptKey(base.asked.neutral().turns, own.id), this.#since);
    }
    return this.#finish(isCut(round) ? round : { ...round, reason: own === null ? "stop" : "tool_calls" });
  }

  #finish({ reason, native }: Round): FinalPart {
    const { transcript, base } = this.#parts;
    const said = native === "" ? reason : native;
    if (!base.stream) return { kind: "body", body: transcript.body(this.#blocks, { reason, native: said }) };
    return { kind: "stream", tail: transcript.write({ kind: "finish", choice: 0, reason, native: said }) };
  }
}

// Builds the request of one round: the caller's request, the functions for its actions, and the rounds and results so far.
import type { Json } from "../../core/json.ts";
import type { CallerRequest, NeutralRequest, NeutralTool, NeutralTurn, ToolChoice } from "../../core/neutral.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import type { Transcript } from "./transcript.ts";

/** No dialect has this name, so that vendors' answers always arrive as neutral events. */
const WIRE = "acting";

/** Vendors re-encode schemas; no template makes more tokens per character than this. */
const TOKENS_PER_SCHEMA_CHAR = 1;

export interface RoundParts {
  /** As the caller's wire parsed it. */
  readonly base: ModelRequest;
  readonly bodyBytes: number;
  readonly tools: readonly NeutralTool[];
  /** The caller's turns, with action results of earlier answers restored in place. */
  readonly turns: readonly NeutralTurn[];
  readonly since: readonly NeutralTurn[];
  readonly toolChoice: ToolChoice | null;
  /** A lower limit on output tokens; null: the caller's. */
  readonly outputTokens: number | null;
  /** An allowance for results that are not there yet, to bound the cost. */
  readonly moreBytes: number;
  readonly stay: string | null;
}

function lower(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

export function roundRequest(parts: RoundParts, transcript: Transcript): ModelRequest {
  const { base, tools, turns, since, toolChoice, outputTokens, moreBytes, stay, bodyBytes } = parts;
  const before = base.asked.neutral();
  const neutral: NeutralRequest = {
    ...before,
    turns: [...turns, ...since],
    tools: [...before.tools, ...tools],
    toolChoice,
  };
  const asked: CallerRequest = {
    wire: WIRE,
    body: base.asked.body as Json,
    mayBeEmpty: base.asked.mayBeEmpty,
    usesTools: true,
    reasoning: () => base.asked.reasoning(),
    format: () => base.asked.format(),
    neutral: () => neutral,
  };
  const added = turns.length - before.turns.length;
  const more = JSON.stringify([[...since, ...(added > 0 ? turns : [])], tools]);
  const schemaChars = JSON.stringify(tools).length;
  return {
    ...base,
    asked,
    unsifted: () => asked,
    passesUnsifted: false,
    keptBytes: (base.keptBytes ?? 0) + bodyBytes + Buffer.byteLength(more) + moreBytes,
    shape: {
      ...base.shape,
      messages: base.shape.messages + since.length + Math.max(0, added),
      hasSchemas: true,
      jsonTokens: base.shape.jsonTokens + TOKENS_PER_SCHEMA_CHAR * schemaChars + moreBytes,
    },
    // Each round's output is capped by the remaining money, so that the last one fits.
    output: { ...base.output, asked: lower(base.output.asked, outputTokens), shared: true },
    ...(stay === null ? {} : { stay }),
    sentText: () => `${base.sentText()}\n${more}`,
    readText: () => `${base.readText()}\n${more}`,
    answers: (head) => transcript.codec(head),
  };
}

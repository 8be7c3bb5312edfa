// The request of one round: what the caller has asked, the functions of its actions, and all that was said and brought so far.
import type { Json } from "../../core/json.ts";
import type { CallerRequest, NeutralRequest, NeutralTool, NeutralTurn, ToolChoice } from "../../core/neutral.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import type { Transcript } from "./transcript.ts";

/** No dialect is called so: what a vendor says of a round is always read as neutral events. */
const WIRE = "acting";

/** Of schemas, vendors write every value anew: so many tokens for each character are more than any template makes. */
const TOKENS_PER_SCHEMA_CHAR = 1;

export interface RoundParts {
  /** As the caller's wire has read it. */
  readonly base: ModelRequest;
  /** Of the body as it was sent. */
  readonly bodyBytes: number;
  readonly tools: readonly NeutralTool[];
  /** What goes before the caller's last words, by place: what actions brought in earlier answers. */
  readonly turns: readonly NeutralTurn[];
  /** What was said and brought in this answer so far. */
  readonly since: readonly NeutralTurn[];
  readonly toolChoice: ToolChoice | null;
  /** At most so many output tokens; null: as asked. */
  readonly outputTokens: number | null;
  /** Of what has not come yet, for a bound. */
  readonly moreBytes: number;
  readonly stay: string | null;
}

function asText(turns: readonly NeutralTurn[], tools: readonly NeutralTool[]): string {
  return JSON.stringify([turns, tools]);
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
  const more = asText([...since, ...(added > 0 ? turns : [])], tools);
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
    // What a round may say is lowered to what is left of the money: the last one has to fit.
    output: { ...base.output, asked: lower(base.output.asked, outputTokens), shared: true },
    ...(stay === null ? {} : { stay }),
    sentText: () => `${base.sentText()}\n${more}`,
    readText: () => `${base.readText()}\n${more}`,
    answers: (head) => transcript.codec(head),
  };
}

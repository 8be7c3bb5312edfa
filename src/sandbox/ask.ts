// The parts of a request, in any format, on which the sandbox's answer depends.
import type { NeutralBlock, NeutralRequest, NeutralTurn } from "../core/neutral.ts";
import { piecesOf, seedOf } from "./vocabulary.ts";

/** One message, or one text to embed: its text, and its number of images and files. */
export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool" | "input";
  readonly text: string;
  readonly parts: number;
}

/** A JSON Schema, as far as the sandbox understands it. */
export type Schema = Readonly<Record<string, unknown>>;

export interface Tool {
  readonly name: string;
  readonly schema: Schema;
}

export interface Ask {
  readonly model: string;
  readonly stream: boolean;
  /** Whether a stream must include usage; dialects that always send it set true. */
  readonly usageAsked: boolean;
  readonly turns: readonly Turn[];
  readonly outputTokensMax: number | null;
  readonly stops: readonly string[];
  readonly choices: number;
  readonly tools: readonly Tool[];
  /** Whether a tool may be called, must be called, or which one must be. */
  readonly toolUse: "auto" | "any" | "none" | { readonly name: string };
  readonly parallelTools: boolean;
  /** The schema that the answer must match. */
  readonly schema: Schema | null;
  readonly thinkingTokens: number;
  /** Prompt tokens besides the turns: tools, or inputs sent as tokens. */
  readonly extraTokens: number;
}

function textOf(block: NeutralBlock): string {
  if (block.kind === "tool-call") return block.arguments;
  if (block.kind === "tool-result")
    return typeof block.content === "string" ? block.content : block.content.map(textOf).filter(Boolean).join(" ");
  return "text" in block ? block.text : "";
}

function partsOf(block: NeutralBlock): number {
  if (block.kind === "tool-result" && typeof block.content !== "string")
    return block.content.reduce((sum, inner) => sum + partsOf(inner), 0);
  return ["image", "file", "audio"].includes(block.kind) ? 1 : 0;
}

function turnOf(role: Turn["role"], blocks: readonly NeutralBlock[]): Turn {
  const parts = blocks.reduce((sum, block) => sum + partsOf(block), 0);
  return { role, text: blocks.map(textOf).filter(Boolean).join(" "), parts };
}

/** Splits tool results into separate turns, before the rest. */
function turnsOf({ role, blocks }: NeutralTurn): Turn[] {
  const results = blocks.filter(({ kind }) => kind === "tool-result");
  const rest = blocks.filter(({ kind }) => kind !== "tool-result");
  const own = turnOf(role === "developer" ? "system" : role, rest);
  const isOwn = rest.length > 0 && (role !== "system" || own.text !== "");
  return [...results.map((block) => turnOf("tool", [block])), ...(isOwn ? [own] : [])];
}

/** What a format knows about a request besides its neutral form. */
export type OwnAsk = Pick<Ask, "model" | "stream" | "outputTokensMax" | "thinkingTokens"> &
  Partial<Ask> & {
    /** The tools as sent, counted by their length. */
    readonly toolsJson?: unknown;
  };

/** Makes the ask of a decoded request. `own` overrides what the neutral form implies. */
export function askOf(request: NeutralRequest, { toolsJson, ...own }: OwnAsk): Ask {
  const { toolChoice, format, parallelToolCalls, stops, choices } = request;
  const modes = { auto: "auto", none: "none", required: "any" } as const;
  return {
    usageAsked: true,
    turns: request.turns.flatMap(turnsOf),
    stops,
    choices,
    tools: request.tools.flatMap((tool) =>
      tool.kind === "function" ? [{ name: tool.name, schema: tool.parameters ?? {} }] : [],
    ),
    toolUse: toolChoice?.mode === "named" ? { name: toolChoice.name } : modes[toolChoice?.mode ?? "auto"],
    parallelTools: parallelToolCalls ?? true,
    schema: format === null ? null : format.kind === "schema" ? format.schema : {},
    extraTokens: toolsJson ? jsonTokens(toolsJson) : 0,
    ...own,
  };
}

/** Written in the last user message as `[[name]]` or `[[name: value]]`, such as `[[say: Hello]]` or `[[words: 500]]`. */
export interface Directives {
  readonly say: string | null;
  readonly words: number | null;
  /** Pads every word to this many characters, for large answers. */
  readonly width: number;
  readonly tokensPerSecond: number | null;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly parallel: boolean;
  readonly call: { readonly name: string; readonly input: unknown } | null;
  /** Identifies the conversation for faults that apply once. */
  readonly id: string | null;
}

/** A value ends at the first two brackets and contains no other directive, so an unclosed one is not searched to the end of the text. */
const DIRECTIVE = /\[\[(say|words|width|pace|cached|cache-write|parallel|call|id)(?::((?:(?!\[\[|\]\])[\s\S])*))?\]\]/g;
const TURN_TOKENS = 3;
const PART_TOKENS = 85;
const WORDS_MAX = 1_000_000;

function callOf(said: string): Directives["call"] {
  const [, name = "", input = ""] = /^([\w-]+)\s*(\{[\s\S]*\})?$/.exec(said.trim()) ?? [];
  try {
    return name === "" ? null : { name, input: input === "" ? {} : (JSON.parse(input) as unknown) };
  } catch {
    return null;
  }
}

export function directivesOf(turns: readonly Turn[]): Directives {
  const said = turns.findLast((turn) => turn.role === "user" && turn.text !== "");
  const found = new Map<string, string>();
  for (const [, name, value] of said?.text.matchAll(DIRECTIVE) ?? [])
    if (name) found.set(name, value?.trimStart() ?? "");
  const whole = (name: string) => {
    const value = Number.parseInt(found.get(name) ?? "", 10);
    return value >= 0 ? Math.min(value, WORDS_MAX) : null;
  };
  const pace = Number.parseFloat(found.get("pace") ?? "");
  return {
    say: found.get("say") ?? null,
    words: whole("words"),
    width: whole("width") ?? 0,
    tokensPerSecond: pace > 0 ? pace : null,
    cachedTokens: whole("cached") ?? 0,
    cacheWriteTokens: whole("cache-write") ?? 0,
    parallel: said?.text.includes("[[parallel]]") ?? false,
    call: callOf(found.get("call") ?? ""),
    id: found.get("id") ?? null,
  };
}

/** Counts one token per word, a few per message, and a fixed number per image or file. */
export function promptTokens(ask: Ask): number {
  return ask.turns.reduce((sum, { role, text, parts }) => {
    return sum + (role === "input" ? 0 : TURN_TOKENS) + piecesOf(text).length + parts * PART_TOKENS;
  }, ask.extraTokens);
}

/** Estimates the tokens of tool definitions and the like by their length. */
export function jsonTokens(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4);
}

/** The key for faults that apply once: the model and the messages, or the name from `[[id: ...]]`. A hash, because callers choose the lengths. */
export function conversationOf(ask: Ask): number {
  return seedOf(JSON.stringify([ask.model, directivesOf(ask.turns).id ?? ask.turns]));
}

/** Depends only on the model and the messages, so that a streamed and a unary answer have the same text. */
export function askSeed(ask: Ask): number {
  return seedOf(JSON.stringify([ask.model, ask.turns]));
}

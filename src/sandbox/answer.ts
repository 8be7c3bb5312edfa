// Composes an answer independently of any dialect: thinking, text or tool calls, the finish, and the usage.
import type { TokenUsage } from "../core/route.ts";
import { type Ask, askSeed, type Directives, directivesOf, promptTokens, type Schema } from "./ask.ts";
import type { Conduct } from "./faults.ts";
import { instanceOf } from "./instance.ts";
import { clausesFrom, idFrom, piecesOf, type Random, randomFrom, sentenceFrom } from "./vocabulary.ts";

export interface Call {
  /** Random letters and digits; dialects add their own prefix. */
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The input as JSON, in one-token pieces; incomplete if the token limit cut it. */
  readonly fragments: readonly string[];
}

export interface Choice {
  /** One-token pieces, as in `text`. */
  readonly thinking: readonly string[];
  readonly text: readonly string[];
  readonly calls: readonly Call[];
  readonly finish: "stop" | "length" | "tool_calls" | "content_filter";
  /** The stop sequence that ended it; null if none did. */
  readonly stoppedBy: string | null;
}

/** `promptTokens` includes `cachedTokens` and `cacheWriteTokens`; `outputTokens` includes `thinkingTokens`. */
export interface AnswerUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly thinkingTokens: number;
}

export function tokenUsage(usage: AnswerUsage): TokenUsage {
  const { promptTokens, cachedTokens: cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  const inputTokens = promptTokens - cacheReadTokens - cacheWriteTokens;
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, reasoningTokens: usage.thinkingTokens };
}

export interface Answer {
  readonly id: string;
  readonly choices: readonly Choice[];
  readonly usage: AnswerUsage;
}

const WORDS = 60;
/** Of all choices together, because a whole answer is one text. */
const TEXT_CHARS_MAX = 64 * 1024 * 1024;
const WORD_CHARS = 8;
const FRAGMENT_CHARS = 8;
const HUGE_BYTES = 2 * 1024 * 1024;
const ANY_OBJECT: Schema = { type: "object", properties: { answer: { type: "string" } } };

function fragmentsOf(value: unknown): string[] {
  return JSON.stringify(value).match(new RegExp(`[\\s\\S]{1,${FRAGMENT_CHARS}}`, "gu")) ?? [];
}

/** The tools to call: none, the first, a named one, or two if the prompt asks for that. */
function chosenTools(ask: Ask, said: Directives): Ask["tools"] {
  const first = ask.tools[0];
  const forced = typeof ask.toolUse === "object" || ask.toolUse === "any";
  const answersTool = ask.turns.at(-1)?.role === "tool";
  if (!first || ask.toolUse === "none" || (!forced && (answersTool || said.say !== null))) return [];
  const name = typeof ask.toolUse === "object" ? ask.toolUse.name : (said.call?.name ?? null);
  if (name !== null) return [ask.tools.find((tool) => tool.name === name) ?? first];
  return said.parallel && ask.parallelTools ? [first, ask.tools[1] ?? first] : [first];
}

function plainText(ask: Ask, said: Directives, random: Random): readonly string[] {
  if (said.say !== null) return piecesOf(said.say);
  if (ask.schema) return fragmentsOf(instanceOf(Object.keys(ask.schema).length > 0 ? ask.schema : ANY_OBJECT, random));
  const room = Math.floor(TEXT_CHARS_MAX / (ask.choices * Math.max(WORD_CHARS, said.width)));
  const count = Math.min(said.words ?? WORDS, room);
  return sentenceFrom(
    random,
    Math.min(count, ask.outputTokensMax === null ? count : ask.outputTokensMax + 1),
    said.width,
  );
}

function stopped(text: readonly string[], stops: readonly string[]): { text: readonly string[]; by: string | null } {
  const joined = stops.length > 0 ? text.join("") : "";
  let end = joined.length;
  let by: string | null = null;
  for (const stop of stops) {
    const at = joined.indexOf(stop);
    if (at >= 0 && at < end) {
      end = at;
      by = stop;
    }
  }
  return by === null ? { text, by } : { text: piecesOf(joined.slice(0, end)), by };
}

function callsWithin(
  tools: Ask["tools"],
  { call }: Directives,
  { room, random }: { readonly room: number; readonly random: Random },
): { calls: Call[]; cut: boolean } {
  const calls: Call[] = [];
  let left = room;
  for (const { name, schema } of tools) {
    const input = call?.name === name ? call.input : instanceOf({ type: "object", ...schema }, random);
    const all = fragmentsOf(input);
    const fragments = all.slice(0, left);
    calls.push({ id: idFrom(random, 20), name, input, fragments });
    left -= fragments.length;
    if (fragments.length < all.length) return { calls, cut: true };
  }
  return { calls, cut: false };
}

function choiceOf(ask: Ask, said: Directives, conduct: Conduct, random: Random): Choice {
  const nothing = { thinking: [], text: [], calls: [], stoppedBy: null };
  if (conduct.content === "empty") return { ...nothing, finish: "stop" };
  if (conduct.content === "huge") return { ...nothing, text: ["x".repeat(HUGE_BYTES)], finish: "stop" };
  const room = ask.outputTokensMax ?? Number.POSITIVE_INFINITY;
  const thinking = clausesFrom(random, Math.min(ask.thinkingTokens, room));
  const left = room - thinking.length;
  const tools = chosenTools(ask, said);
  if (tools.length > 0) {
    const { calls, cut } = callsWithin(tools, said, { room: left, random });
    return { ...nothing, thinking, calls, finish: cut ? "length" : "tool_calls" };
  }
  const { text, by } = stopped(plainText(ask, said, random), ask.stops);
  if (conduct.filtered)
    return { ...nothing, thinking, text: text.slice(0, Math.min(left, text.length / 2)), finish: "content_filter" };
  if (text.length > left) return { ...nothing, thinking, text: text.slice(0, left), finish: "length" };
  return { ...nothing, thinking, text, finish: "stop", stoppedBy: by };
}

export function choiceTokens(choice: Choice): number {
  const calls = choice.calls.reduce((sum, call) => sum + call.fragments.length, 0);
  return choice.thinking.length + choice.text.length + calls;
}

export function answerTo(ask: Ask, conduct: Conduct): Answer {
  const said = directivesOf(ask.turns);
  const seed = askSeed(ask);
  const choices = Array.from({ length: ask.choices }, (_, at) => choiceOf(ask, said, conduct, randomFrom(seed + at)));
  const prompt = promptTokens(ask);
  const cached = Math.min(said.cachedTokens, prompt);
  return {
    id: idFrom(randomFrom(seed), 24),
    choices,
    usage: {
      promptTokens: prompt,
      cachedTokens: cached,
      cacheWriteTokens: Math.min(said.cacheWriteTokens, prompt - cached),
      outputTokens: choices.reduce((sum, choice) => sum + choiceTokens(choice), 0),
      thinkingTokens: choices.reduce((sum, choice) => sum + choice.thinking.length, 0),
    },
  };
}

/** The parsed input of a call; `{}` if the token limit cut it. */
export function cutInput(fragments: readonly string[]): unknown {
  try {
    return JSON.parse(fragments.join(""));
  } catch {
    return {};
  }
}

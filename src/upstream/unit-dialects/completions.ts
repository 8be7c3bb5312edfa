// Plain text completions and fill-in-the-middle: OpenAI's older wire, and a variant with the same request that answers like a chat.
import { defined, isRecord, type Json, stringOf } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";
import { countOf, lastAt } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import { eventBytes, type UnitContext, type UnitDialect } from "./unit-dialect.ts";

const CACHED_AT = ["/prompt_tokens_details/cached_tokens", "/prompt_cache_hit_tokens"];

function countsOf(usage: unknown): Counts | null {
  if (!isRecord(usage)) return null;
  const prompt = countOf(usage.prompt_tokens);
  const textOut = countOf(usage.completion_tokens);
  if (prompt + textOut === 0) return null;
  const cachedIn = Math.min(prompt, countOf(lastAt(usage, CACHED_AT)));
  return { textIn: prompt - cachedIn, cachedIn, textOut };
}

/** Converts a choice to the older wire, wherever the vendor put its text. */
function choiceOf(choice: Json, at: number): Json & { readonly text: string; readonly index: number } {
  const { delta, message, index, finish_reason = null, logprobs = null } = choice;
  const said = isRecord(delta) ? delta : isRecord(message) ? message : {};
  const text = stringOf(choice.text) ?? stringOf(said.content) ?? "";
  return { index: typeof index === "number" ? index : at, text, logprobs, finish_reason };
}

function headOf({ completionId, createdS, servedSlug }: UnitContext) {
  return { id: completionId, object: "text_completion", created: createdS, model: servedSlug };
}

function choicesIn(json: Json) {
  return (Array.isArray(json.choices) ? json.choices.filter(isRecord) : []).map(choiceOf);
}

export const completions: UnitDialect = {
  request({ body, stream }, { upstreamModel, spec }) {
    const streamed = stream ? { stream: true } : {};
    return { path: spec.path ?? "/completions", body: defined({ ...body, model: upstreamModel, ...streamed }) };
  },
  answer(json, _, context) {
    const choices = choicesIn(json);
    if (choices.length === 0) return malformed("the answer has no choice");
    const counts = countsOf(json.usage);
    const { textIn = 0, cachedIn = 0, textOut = 0 } = counts ?? {};
    const prompt_tokens = textIn + cachedIn;
    const usage = { prompt_tokens, completion_tokens: textOut, total_tokens: prompt_tokens + textOut };
    return { body: { ...headOf(context), choices, usage }, counts, text: choices.map(({ text }) => text).join("\n") };
  },
  event(json, _, context) {
    const counts = countsOf(json.usage);
    const told = counts === null ? [] : [{ kind: "usage", counts } as const];
    const events = choicesIn(json).map((choice) => {
      const bytes = eventBytes({ ...headOf(context), choices: [choice] });
      const kind = choice.finish_reason !== null ? "finish" : choice.text === "" ? "preamble" : "content";
      // An empty completion is a valid answer.
      return { kind, bytes, text: choice.text, choice: choice.index, bears: true } as const;
    });
    return [...told, ...events];
  },
  told: (json) => countsOf(json.usage),
};

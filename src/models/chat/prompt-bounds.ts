// How many tokens a prompt can count for: a cheap bound that is never too low, and a tighter one from a real count.
import type { PartBounds } from "../../catalog/model-spec.ts";
import type { PromptShape } from "../formats/prompt-shape.ts";

/** Vendors put words of their own around messages, tools and formats. */
const TOKENS_AROUND = 64;
const TOKENS_PER_MESSAGE = 8;
const TOKENS_AROUND_TOOLS = 1_024;
/** What templates write around the text that was counted. */
const TOKENS_AROUND_COUNT = 256;

/** The most tokens that the parts beside text, and what the model finds itself, can count for at a model with these bounds; null: it takes no such part. */
export function partTokensMax(shape: PromptShape, bounds: PartBounds, contextTokens: number): number | null {
  let tokens = bounds.foundTokensMax ?? 0;
  for (const kind of KINDS) {
    if (shape.parts[kind] === 0) continue;
    const most = eachMax(kind, bounds, contextTokens);
    if (most === undefined) return null;
    tokens += shape.parts[kind] * most;
  }
  return tokens;
}

const KINDS = ["image", "audio", "file", "anything"] as const satisfies readonly (keyof PromptShape["parts"])[];

/** The most tokens that one part of a kind can count for; undefined: no such part is taken. */
function eachMax(
  kind: keyof PromptShape["parts"],
  { imageTokensMax, audioTokensMax, fileTokensMax }: PartBounds,
  contextTokens: number,
): number | undefined {
  if (kind === "anything") return fileTokensMax === undefined ? undefined : contextTokens;
  return kind === "image" ? imageTokensMax : kind === "audio" ? audioTokensMax : fileTokensMax;
}

function around({ messages, hasSchemas, jsonTokens }: PromptShape): number {
  return TOKENS_AROUND + TOKENS_PER_MESSAGE * messages + (hasSchemas ? TOKENS_AROUND_TOOLS : 0) + jsonTokens;
}

/** The cheap bound of the text: no tokenizer makes more tokens than there are bytes. */
export function textTokensMax(shape: PromptShape, bodyBytes: number): number {
  return Math.max(0, bodyBytes - shape.dataChars) + around(shape);
}

/** The tight bound of the text, from a count that is never too low. */
export function countedTokensMax(shape: PromptShape, counted: number): number {
  return counted + TOKENS_AROUND_COUNT + around(shape);
}

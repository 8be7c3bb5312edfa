// Bounds on the tokens of a prompt: a cheap one that is never too low, and a tighter one from a real count.
import type { PartBounds } from "../../catalog/model-spec.ts";
import type { PromptShape } from "../formats/prompt-text.ts";

/** The overhead that vendors add around messages, tools and formats. */
const TOKENS_AROUND = 64;
const TOKENS_PER_MESSAGE = 8;
const TOKENS_AROUND_TOOLS = 1_024;
/** The overhead that templates add around counted text. */
const TOKENS_AROUND_COUNT = 256;

/** The most tokens for parts other than text, and for what the model looks up itself; null: it does not accept such parts. */
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

/** The most tokens for one part of a kind; undefined: not accepted. */
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

/** The cheap bound on text: a tokenizer never makes more tokens than there are bytes. */
export function textTokensMax(shape: PromptShape, bodyBytes: number): number {
  return Math.max(0, bodyBytes - shape.dataChars) + around(shape);
}

/** The tight bound on text, from a count that is never too low. */
export function countedTokensMax(shape: PromptShape, counted: number): number {
  return counted + TOKENS_AROUND_COUNT + around(shape);
}

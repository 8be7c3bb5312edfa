// An estimate of a text's tokens for a caller who asks for nothing else. It is free, so it must cost next to nothing.
import type { TokenCounter } from "./token-counter.ts";

const COUNTED_CHARS_MAX = 16_000;
const SAMPLES = 40;

/** Of a long text samples from all over it are counted: whoever wants to be misled misleads nobody else. */
export async function estimateTokens(text: string, counter: TokenCounter): Promise<number> {
  if (text.length <= COUNTED_CHARS_MAX) return counter.count(text);
  const chars = COUNTED_CHARS_MAX / SAMPLES;
  const step = text.length / SAMPLES;
  const samples = Array.from({ length: SAMPLES }, (_, at) =>
    text.slice(Math.floor(at * step), Math.floor(at * step) + chars),
  );
  const tokens = await counter.count(samples.join(""));
  return Math.ceil((tokens / COUNTED_CHARS_MAX) * text.length);
}

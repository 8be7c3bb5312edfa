// An estimate of a text's tokens for a caller who asks for nothing else. It is free, so it must cost next to nothing.
import type { TokenCounter } from "./token-counter.ts";

const COUNTED_CHARS_MAX = 16_000;
const SAMPLES = 40;

/** More at once are not counted but taken by their length: those who pay wait for the same thread. */
const COUNTS_AT_ONCE = 8;
const BYTES_PER_TOKEN = 3;

/** Of a long text samples from all over it are counted: whoever wants to be misled misleads nobody else. */
async function estimateTokens(text: string, counter: TokenCounter): Promise<number> {
  if (text.length <= COUNTED_CHARS_MAX) return counter.count(text);
  const chars = COUNTED_CHARS_MAX / SAMPLES;
  const step = text.length / SAMPLES;
  const samples = Array.from({ length: SAMPLES }, (_, at) =>
    text.slice(Math.floor(at * step), Math.floor(at * step) + chars),
  );
  const tokens = await counter.count(samples.join(""));
  return Math.ceil((tokens / COUNTED_CHARS_MAX) * text.length);
}

/** Estimates by one counter, a few at once. */
export function tokenEstimates(counter: TokenCounter): (text: string) => Promise<number> {
  let counting = 0;
  return async (text) => {
    if (counting >= COUNTS_AT_ONCE) return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
    counting++;
    try {
      return await estimateTokens(text, counter);
    } finally {
      counting--;
    }
  };
}

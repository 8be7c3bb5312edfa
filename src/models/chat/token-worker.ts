// Counts tokens off the event loop; started by the first count.
import { parentPort, workerData } from "node:worker_threads";
import { get_encoding } from "tiktoken";
import type { Tokenizer } from "../../catalog/model-spec.ts";
import type { CountAnswer, CountOrder } from "./token-counter.ts";

const encoding = get_encoding("o200k_base");

/** The encoder takes two seconds per million characters, and is worse than linear on odd input; longer text is not encoded. */
const COUNTED_CHARS_MAX = 400_000;
const SAMPLES = 100;

/** The encoder is quadratic in the length of an unbroken run (100,000 letters: half a minute). Each cut of a run adds at most one token. */
const LONG_RUN = /\S{256}|\s{256}/gu;

/** Text that other tokenizers may split into single bytes: non-Latin scripts, digits, punctuation runs, unusual whitespace. */
const BY_BYTES = /[^\0-\x7f]+|\d+|[^A-Za-z\d\s]{2,}|\s{2,}|[\t\r\f\v]/g;
/** Line ends and indentation, of which common tokenizers make few tokens. */
const PLAIN_SPACE = /^\n{0,2} {0,16}$/;
/** Replaces text that is counted by bytes, so that its neighbours stay separate. */
const BETWEEN = "\0";
/**
 * The factors for the rest, which is words. Other tokenizers make at most twice our tokens of ordinary text. Of words picked by a caller
 * because only our encoding has tokens for them, they make at most this many tokens per letter.
 */
const OTHER_TOKENIZERS = 2;
const TOKENS_PER_LETTER = 0.6;

function encoded(text: string): number {
  let tokens = 0;
  let from = 0;
  for (const { index, 0: run } of text.matchAll(LONG_RUN)) {
    const to = index + run.length;
    tokens += encoding.encode_ordinary(text.slice(from, to)).length;
    from = to;
  }
  return tokens + encoding.encode_ordinary(text.slice(from)).length;
}

/** Samples a long text evenly from a random offset, because its beginning may be crafted to mislead. */
function estimate(text: string): number {
  if (text.length <= COUNTED_CHARS_MAX) return encoded(text);
  const step = text.length / SAMPLES;
  const chars = COUNTED_CHARS_MAX / SAMPLES;
  const first = Math.random() * (step - chars);
  let tokens = 0;
  for (let at = 0; at < SAMPLES; at++) {
    const from = Math.floor(first + at * step);
    tokens += encoded(text.slice(from, from + chars));
  }
  return Math.ceil((tokens / COUNTED_CHARS_MAX) * text.length);
}

/** An upper bound for another tokenizer: bytes for text it may not know, else a multiple of our count. */
function elsewhere(text: string): number {
  let bytes = 0;
  const rest = text.replace(BY_BYTES, (run) => {
    if (PLAIN_SPACE.test(run)) return run;
    bytes += Buffer.byteLength(run);
    return BETWEEN;
  });
  return bytes + Math.ceil(Math.max(OTHER_TOKENIZERS * encoded(rest), TOKENS_PER_LETTER * rest.length));
}

/** Never too low: no tokenizer makes more tokens than there are bytes, and text too long to encode counts by bytes. */
function most(text: string, tokenizer: Tokenizer | null): number {
  const counted = text.slice(0, COUNTED_CHARS_MAX);
  const rest = Buffer.byteLength(text) - Buffer.byteLength(counted);
  const tokens = tokenizer === "o200k" ? encoded(counted) : elsewhere(counted);
  return Math.min(tokens, Buffer.byteLength(counted)) + Math.max(0, rest);
}

/** The most of a prompt that is encoded for a free count, in slices from all over it: some 20 ms. */
const SAMPLE_CHARS = 20_000;
const SLICES = 20;

/** Samples a long text at fixed slices: a caller who games this misleads only itself. */
function roughly(text: string): number {
  if (text.length <= SAMPLE_CHARS) return encoded(text);
  const size = SAMPLE_CHARS / SLICES;
  const step = (text.length - size) / (SLICES - 1);
  const slices = Array.from({ length: SLICES }, (_, at) => text.slice(at * step, at * step + size));
  return Math.ceil(encoded(slices.join("")) * (text.length / SAMPLE_CHARS));
}

const { secrets } = workerData as { readonly secrets: readonly string[] };

async function answered(order: CountOrder): Promise<CountAnswer> {
  try {
    if (!("prompt" in order)) {
      const { text, tokenizer } = order;
      return { answer: tokenizer === null ? estimate(text) : most(text, tokenizer) };
    }
    // Imported on demand: the body schemas take longer to load than a typical count.
    const { readPrompt } = await import("./read-prompt.ts");
    return { answer: readPrompt(order.prompt, secrets, roughly) };
  } catch (error) {
    return { broke: String(error) };
  }
}

parentPort?.on("message", async (order: CountOrder) => {
  parentPort?.postMessage(await answered(order));
});

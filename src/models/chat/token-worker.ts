// Counts tokens off the event loop; started when the first count is asked for.
import { parentPort, workerData } from "node:worker_threads";
import { get_encoding } from "tiktoken";
import type { Tokenizer } from "../../catalog/model-spec.ts";
import type { CountAnswer, CountOrder } from "./token-counter.ts";

const encoding = get_encoding("o200k_base");

/** The encoder takes two seconds for a million characters, and is worse than linear on odd input: more is not encoded. */
const COUNTED_CHARS_MAX = 400_000;
const SAMPLES = 100;

/**
 * The encoder's work on a run without a break grows with the square of its length: a hundred thousand letters in a row
 * take half a minute. Runs are cut here, which counts at most one token more for each cut.
 */
const LONG_RUN = /\S{256}|\s{256}/gu;

/** What other tokenizers may not have learned, and can take a token a byte for: other scripts, digits, runs of marks, odd space. */
const BY_BYTES = /[^\0-\x7f]+|\d+|[^A-Za-z\d\s]{2,}|\s{2,}|[\t\r\f\v]/g;
/** Line ends and indentation: tokenizers in use make few tokens of them. */
const PLAIN_SPACE = /^\n{0,2} {0,16}$/;
/** Stands for what is counted by bytes, so that what was apart stays apart. */
const BETWEEN = "\0";
/**
 * The rest is words. Others make more tokens of them than we do, twice as many at most where the text is a text. Where
 * a caller has picked words that we have a token for and others have none, they make at most so many of a letter.
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

/** Of a long text samples from all over it are counted, from a random place on: its beginning may be made to mislead. */
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

/** As many as another tokenizer can make of a text: bytes where it may know nothing of it, else a multiple of our count. */
function elsewhere(text: string): number {
  let bytes = 0;
  const rest = text.replace(BY_BYTES, (run) => {
    if (PLAIN_SPACE.test(run)) return run;
    bytes += Buffer.byteLength(run);
    return BETWEEN;
  });
  return bytes + Math.ceil(Math.max(OTHER_TOKENIZERS * encoded(rest), TOKENS_PER_LETTER * rest.length));
}

/** Never too low: no tokenizer makes more tokens than there are bytes, and so much is taken for what is too long to count. */
function most(text: string, tokenizer: Tokenizer | null): number {
  const counted = text.slice(0, COUNTED_CHARS_MAX);
  const rest = Buffer.byteLength(text) - Buffer.byteLength(counted);
  const tokens = tokenizer === "o200k" ? encoded(counted) : elsewhere(counted);
  return Math.min(tokens, Buffer.byteLength(counted)) + Math.max(0, rest);
}

/** So much of a prompt is counted for free, in slices from all over it: some 20 ms. */
const SAMPLE_CHARS = 20_000;
const SLICES = 20;

/** Of a long text a few slices: a caller who wants to be misled misleads no other. */
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
    // Read when first needed: the schemas of bodies take longer to load than an ordinary count takes.
    const { readPrompt } = await import("./read-prompt.ts");
    return { answer: readPrompt(order.prompt, secrets, roughly) };
  } catch (error) {
    return { broke: String(error) };
  }
}

parentPort?.on("message", async (order: CountOrder) => {
  parentPort?.postMessage(await answered(order));
});

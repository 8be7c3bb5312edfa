// Counts tokens off the event loop; started when the first count is asked for.
import { parentPort } from "node:worker_threads";
import { get_encoding } from "tiktoken";

const encoding = get_encoding("o200k_base");

/** Past this a text is counted by the ratio of its beginning: the encoder is worse than linear on odd input. */
const COUNTED_CHARS_MAX = 400_000;

/**
 * The encoder's work on a run without a break grows with the square of its length: a hundred thousand letters in a row
 * take half a minute. Runs are cut here, which counts at most one token more for each cut.
 */
const LONG_RUN = /\S{256}|\s{256}/gu;

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

function count(text: string): number {
  if (text.length <= COUNTED_CHARS_MAX) return encoded(text);
  const beginning = encoded(text.slice(0, COUNTED_CHARS_MAX));
  return Math.ceil((beginning / COUNTED_CHARS_MAX) * text.length);
}

parentPort?.on("message", ({ id, text }: { id: number; text: string }) => {
  parentPort?.postMessage({ id, tokens: count(text) });
});

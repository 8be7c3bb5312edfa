// Counts tokens off the event loop; started when the first count is asked for.
import { parentPort } from "node:worker_threads";
import { get_encoding } from "tiktoken";

const encoding = get_encoding("o200k_base");

/** Past this a text is counted by the ratio of its beginning: the encoder is worse than linear on odd input. */
const COUNTED_CHARS_MAX = 400_000;

function count(text: string): number {
  if (text.length <= COUNTED_CHARS_MAX) return encoding.encode_ordinary(text).length;
  const beginning = encoding.encode_ordinary(text.slice(0, COUNTED_CHARS_MAX)).length;
  return Math.ceil((beginning / COUNTED_CHARS_MAX) * text.length);
}

parentPort?.on("message", ({ id, text }: { id: number; text: string }) => {
  parentPort?.postMessage({ id, tokens: count(text) });
});

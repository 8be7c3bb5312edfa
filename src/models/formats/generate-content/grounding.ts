// Sources found by hosted tools, as a candidate's metadata.
import type { Json } from "../../../core/json.ts";
import type { ActionBlock } from "../../../core/neutral.ts";

/** A tool call that has run, with the model's arguments. */
export interface RanTool extends Pick<ActionBlock, "hosted" | "ok"> {
  readonly args: Json;
}

/** Converts citation offsets from characters of `text` to bytes, as the format requires. */
export function groundingOf(ran: readonly RanTool[], cited: readonly Json[], text: string): Json {
  const searches = ran.filter(({ hosted }) => hosted === "web_search");
  const pages = ran.filter(({ hosted }) => hosted === "web_fetch");
  if (searches.length + pages.length === 0) return {};
  const bytesTo = (chars: unknown) => Buffer.byteLength(text.slice(0, Number(chars)));
  const supports = cited.map(({ start, end }, at) => ({
    segment: { startIndex: bytesTo(start), endIndex: bytesTo(end), text: text.slice(Number(start), Number(end)) },
    groundingChunkIndices: [at],
  }));
  const groundingMetadata = {
    webSearchQueries: searches.map(({ args }) => args.query),
    groundingChunks: cited.map(({ url, title }) => ({ web: { uri: url, title } })),
    groundingSupports: supports.filter(({ segment }) => segment.text !== ""),
  };
  if (pages.length === 0) return { groundingMetadata };
  const urlMetadata = pages.map(({ args, ok }) => ({
    retrievedUrl: args.url,
    urlRetrievalStatus: `URL_RETRIEVAL_STATUS_${ok ? "SUCCESS" : "ERROR"}`,
  }));
  return { groundingMetadata, urlContextMetadata: { urlMetadata } };
}

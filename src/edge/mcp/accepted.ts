// The form of an answer that a client accepts. The library requires clients to accept both forms, and many name one or none.
import type { Answer, StreamAnswer } from "../../core/endpoint.ts";
import { EVENT_STREAM_HEADERS } from "../../core/event-stream.ts";

/** The one form that a client names in Accept (RFC 9110, 12.5.1); null: both. A client that names neither gets JSON. */
export function formOf(accept = ""): "json" | "events" | null {
  const ranges = accept.toLowerCase().replaceAll(/\s/g, "").split(",");
  const named = ranges.filter((range) => !/;q=0(\.0*)?(;|$)/.test(range)).map((range) => range.split(";")[0] ?? "");
  if (!named.some((type) => ["text/event-stream", "text/*"].includes(type))) return "json";
  return named.some((type) => ["application/json", "application/*", "*/*"].includes(type)) ? null : "events";
}

async function* partsOf(body: ReadableStream<Uint8Array>, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    ended();
  }
}

/** A response of the library in the form that its client accepts. `ended` is called when it was read completely. */
export async function answerOf(
  { status, headers: given, body }: Response,
  form: ReturnType<typeof formOf>,
  ended: () => void,
): Promise<Answer | StreamAnswer> {
  const headers = Object.fromEntries(given);
  delete headers["content-length"];
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  if (isStream && body !== null && form !== "json") return { status, headers, bytes: partsOf(body, ended) };
  const text = await new Response(body).text().finally(ended);
  if (isStream) {
    // The answer is the last event; a cancelled call has none.
    const answer = [...text.matchAll(/^data: (\{.*)$/gm)].at(-1)?.[1];
    const type = { "content-type": "application/json" };
    return answer === undefined ? { status: 202, body: "" } : { status, headers: type, body: answer };
  }
  if (form !== "events" || status !== 200) return { status, headers, body: text };
  return { status, headers: EVENT_STREAM_HEADERS, body: `event: message\ndata: ${text}\n\n` };
}

// The form of an answer that a client accepts. The library asks every client for both forms, and many clients name one or none (RFC 9110, 12.5.1).
import type { Answer, StreamAnswer } from "../endpoint.ts";
import { EVENT_STREAM_HEADERS } from "../event-stream.ts";

/** What the library wants to read, whatever the client sent. */
export const BOTH = "application/json, text/event-stream";

const JSON_TYPES = ["application/json", "application/*"];
const EVENT_TYPES = ["text/event-stream", "text/*"];

/** The one form that a client names; null: it names both. A client that names neither gets JSON. */
export function formOf(accept = ""): "json" | "events" | null {
  const named = accept
    .toLowerCase()
    .split(",")
    .map((one) => one.split(";").map((part) => part.trim()))
    .filter(([, ...params]) => !params.some((param) => /^q=0(\.0*)?$/.test(param)))
    .map(([type = ""]) => type);
  const takes = (types: readonly string[]) => named.some((type) => types.includes(type));
  if (!takes(EVENT_TYPES)) return "json";
  return takes(JSON_TYPES) || named.includes("*/*") ? null : "events";
}

/** A response of the library in the form that the client accepts. `ended` is called when all of it has been read. */
export async function answerOf(
  { status, headers: given, body }: Response,
  form: "json" | "events" | null,
  ended: () => void,
): Promise<Answer | StreamAnswer> {
  const headers = Object.fromEntries(given);
  delete headers["content-length"];
  const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
  if (isStream && body !== null && form !== "json") return { status, headers, bytes: partsOf(body, ended) };
  const text = await new Response(body).text().finally(ended);
  if (isStream) return wholeOf(text);
  const isAnswer = status === 200 && headers["content-type"]?.includes("json") === true;
  if (!isAnswer || form !== "events") return { status, headers, body: text };
  return { status, headers: { ...headers, ...EVENT_STREAM_HEADERS }, body: `event: message\ndata: ${text}\n\n` };
}

/** The answer is the last event of a stream; a call that was cancelled has none. */
function wholeOf(events: string): Answer {
  const last = /^data: (\{.*)$/gm;
  const body = [...events.matchAll(last)].at(-1)?.[1];
  if (body === undefined) return { status: 202, body: "" };
  return { status: 200, headers: { "content-type": "application/json" }, body };
}

async function* partsOf(body: ReadableStream<Uint8Array>, ended: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    ended();
  }
}

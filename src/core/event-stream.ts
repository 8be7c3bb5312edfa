// Server-sent events (text/event-stream of the HTML standard): when a client wants them, and what every stream shares.
const TYPE = "text/event-stream";

export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": TYPE,
  "cache-control": "no-store",
  // Stops proxies from buffering the whole answer.
  "x-accel-buffering": "no",
};

/** Sent before the first event: a disconnected client reconnects after this many milliseconds. */
export const EVENTS_PREAMBLE = Buffer.from("retry: 3000\n\n");

/** A comment, which clients ignore. */
export const HEARTBEAT = Buffer.from(": still there\n\n");

/** The media type in a `content-type`, lower case, without parameters (RFC 9110, 8.3.1). */
export function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

export function isEventStream(contentType: string | undefined): boolean {
  return mediaTypeOf(contentType) === TYPE;
}

/** True where Accept names events first: many clients list them after JSON without wanting any. */
export function wantsEvents(accept: string | undefined): boolean {
  return accept?.split(/[,;]/, 1)[0]?.trim().toLowerCase() === TYPE;
}

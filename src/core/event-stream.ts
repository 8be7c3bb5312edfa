// Server-sent events (text/event-stream of the HTML standard) for clients that stay: how they are asked for, and what every such stream has.
const TYPE = "text/event-stream";

export const EVENT_STREAM_HEADERS: Readonly<Record<string, string>> = {
  "content-type": TYPE,
  "cache-control": "no-store",
  // Proxies that gather an answer before they pass it on would keep all events to the end.
  "x-accel-buffering": "no",
};

/** What goes out before the first event: a client that comes back by itself waits so many milliseconds. */
export const EVENTS_PREAMBLE = Buffer.from("retry: 3000\n\n");

/** A comment, which clients pass over. */
export const HEARTBEAT = Buffer.from(": still there\n\n");

/** The media type that a `content-type` names, without its parameters. Case does not count (RFC 9110, 8.3.1). */
export function mediaTypeOf(contentType: string | undefined): string {
  return contentType?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

export function isEventStream(contentType: string | undefined): boolean {
  return mediaTypeOf(contentType) === TYPE;
}

/** Whether events are what Accept names first: many clients name them behind JSON without wanting any. */
export function wantsEvents(accept: string | undefined): boolean {
  return accept?.split(/[,;]/, 1)[0]?.trim().toLowerCase() === TYPE;
}

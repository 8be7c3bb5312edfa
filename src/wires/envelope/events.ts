// Events for callers who are no models: how they are asked for, and how they look (text/event-stream of the HTML standard).
import type { Frame, Reply } from "../../endpoint.ts";
import type { Candidate, Leg } from "../../route.ts";
import { envelopeErrors } from "./errors.ts";

const EVENTS = "text/event-stream";
const HEARTBEAT = Buffer.from(": still there\n\n");

/** What goes out before the first event: a client that comes back by itself waits so many milliseconds. */
export const EVENTS_PREAMBLE = Buffer.from("retry: 3000\n\n");

/** Whether events are what Accept names first: many clients name them behind JSON without wanting any. */
export function wantsEvents(accept: string | undefined): boolean {
  return accept?.split(/[,;]/, 1)[0]?.trim().toLowerCase() === EVENTS;
}

/** One event, whose JSON has no line breaks; null: a comment, which clients pass over. */
export function eventBytes(told: { readonly event: string; readonly json: string } | null): Uint8Array {
  return told === null ? HEARTBEAT : Buffer.from(`event: ${told.event}\ndata: ${told.json}\n\n`);
}

export const eventsFrame: Frame = {
  head(reply: Reply, _served: Candidate, attempts: readonly Leg[]): void {
    reply.header("content-type", EVENTS);
    reply.header("cache-control", "no-store");
    // Proxies that gather an answer before they pass it on would keep all events to the end.
    reply.header("x-accel-buffering", "no");
    reply.header("x-tollgate-attempts", String(attempts.length + 1));
  },
  last: () => "",
  broken: (error) => `event: error\ndata: ${JSON.stringify(envelopeErrors.body(error))}\n\n`,
  keepAlive: null,
};

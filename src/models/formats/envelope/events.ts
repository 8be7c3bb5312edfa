// Frames events for callers other than models.
import type { Frame, Reply } from "../../../core/endpoint.ts";
import { EVENT_STREAM_HEADERS, HEARTBEAT } from "../../../core/event-stream.ts";
import type { Candidate, Leg } from "../../../core/route.ts";
import { envelopeErrors } from "./errors.ts";

/** One event, whose JSON has no line breaks; null: a comment, which clients ignore. */
export function eventBytes(told: { readonly event: string; readonly json: string } | null): Uint8Array {
  return told === null ? HEARTBEAT : Buffer.from(`event: ${told.event}\ndata: ${told.json}\n\n`);
}

export const eventsFrame: Frame = {
  head(reply: Reply, _served: Candidate, attempts: readonly Leg[]): void {
    for (const [name, value] of Object.entries(EVENT_STREAM_HEADERS)) reply.header(name, value);
    reply.header("x-tollgate-attempts", String(attempts.length + 1));
  },
  last: () => "",
  broken: (error) => `event: error\ndata: ${JSON.stringify(envelopeErrors.body(error))}\n\n`,
  keepAlive: null,
};

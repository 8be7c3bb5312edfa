// Live events for connected clients: one read per second for all streams of a payer, whichever processes report the events.
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { EVENTS_PREAMBLE, HEARTBEAT } from "../../core/event-stream.ts";
import { type Event, type EventLog, eventRow } from "./event-log.ts";

/** Per payer, in this process. */
const STREAMS_MAX = 20;
const LOOK_MS = 1_000;
const HEARTBEAT_MS = 15_000;
/** The longest life of a stream; then the client reconnects with the id of its last event. */
const STREAM_MS_MAX = 3_600_000;
const PAGE = 100;
/** The most events sent after a reconnect, or in one second. */
const MISSED_MAX = 1_000;
const AGAIN_SECONDS = 5;

interface Stream {
  readonly waiting: Event[];
  wake: () => void;
}

interface Watch {
  readonly streams: Set<Stream>;
  /** The id of the newest event sent; null: there was none; undefined: not known yet. */
  lastId: string | null | undefined;
}

export interface EventStreamParts {
  readonly log: Pick<EventLog, "page">;
  readonly clock: Pick<Clock, "elapsedMs">;
  /** Whether this process is shutting down, which ends its streams. */
  draining(): boolean;
  onBroken(error: unknown): void;
}

export type EventStreams = ReturnType<typeof createEventStreams>;

/** The events listed after an event, oldest first; the latest events if that event is not found. */
async function since(log: EventStreamParts["log"], payer: string, lastId: string | null): Promise<Event[]> {
  const fresh: Event[] = [];
  for (let cursor: string | null = null; ; ) {
    const page = await log.page(payer, PAGE, cursor);
    const end = page.events.findIndex(({ id }) => id === lastId);
    fresh.push(...(end < 0 ? page.events : page.events.slice(0, end)));
    cursor = page.next;
    if (end >= 0 || cursor === null || fresh.length >= MISSED_MAX) return fresh.reverse();
  }
}

function openWatches({ log, onBroken }: Pick<EventStreamParts, "log" | "onBroken">) {
  const watches = new Map<string, Watch>();

  async function look(payer: string, watch: Watch): Promise<void> {
    if (watch.lastId === undefined) {
      watch.lastId = (await log.page(payer, 1, null)).events[0]?.id ?? null;
      return;
    }
    const fresh = await since(log, payer, watch.lastId);
    watch.lastId = fresh.at(-1)?.id ?? watch.lastId;
    // A stream over the limit ends at its client's next read, so that a client that never reads takes no more memory.
    for (const { waiting } of watch.streams) if (waiting.length <= MISSED_MAX) waiting.push(...fresh);
  }

  function lookOn(payer: string, watch: Watch): void {
    look(payer, watch)
      // If the store is down, the next read finds what was missed.
      .catch(onBroken)
      .finally(() => {
        for (const stream of watch.streams) stream.wake();
        if (watch.streams.size === 0) watches.delete(payer);
        else setTimeout(lookOn, LOOK_MS, payer, watch).unref();
      });
  }

  function join(payer: string, stream: Stream): Watch {
    const known = watches.get(payer);
    const watch = known ?? { streams: new Set<Stream>(), lastId: undefined };
    watch.streams.add(stream);
    if (known !== undefined) return watch;
    watches.set(payer, watch);
    lookOn(payer, watch);
    return watch;
  }

  return { join, count: (payer: string) => watches.get(payer)?.streams.size ?? 0 };
}

export function createEventStreams({ log, clock, draining, onBroken }: EventStreamParts) {
  const watches = openWatches({ log, onBroken });

  async function* follow(
    { payer, lastId, watch, stream }: { payer: string; lastId: string | null; watch: Watch; stream: Stream },
    woken: () => Promise<void>,
    gone: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const untilMs = clock.elapsedMs() + STREAM_MS_MAX;
    let toldMs = clock.elapsedMs();
    try {
      // Send the preamble only after this: a client that has seen it misses no event.
      while (watch.lastId === undefined && !gone.aborted) await woken();
      yield EVENTS_PREAMBLE;
      const missed = lastId === null ? [] : await since(log, payer, lastId);
      // An event listed in between may arrive both ways.
      const known = new Set(missed.map(({ id }) => id));
      if (missed.length > 0) yield bytesOf(missed);
      while (!gone.aborted && !draining() && clock.elapsedMs() < untilMs) {
        const fresh = stream.waiting.splice(0).filter(({ id }) => !known.has(id));
        if (fresh.length > 0 || clock.elapsedMs() - toldMs >= HEARTBEAT_MS) {
          toldMs = clock.elapsedMs();
          yield fresh.length > 0 ? bytesOf(fresh) : HEARTBEAT;
        }
        await woken();
        // A client that reads too slowly must reconnect with the id of its last event.
        if (stream.waiting.length > MISSED_MAX) return;
      }
    } finally {
      watch.streams.delete(stream);
    }
  }

  return {
    /** `lastId`: the last event that the client has seen; null: only new events. Ends when `gone` aborts. */
    open(payer: string, lastId: string | null, gone: AbortSignal): AsyncIterable<Uint8Array> | GatewayError {
      if (watches.count(payer) >= STREAMS_MAX) {
        const detail = { limit: STREAMS_MAX };
        return new GatewayError("too_many_streams", { detail, retryAfterSeconds: AGAIN_SECONDS });
      }
      const stream: Stream = { waiting: [], wake() {} };
      const woken = () =>
        new Promise<void>((resolve) => {
          stream.wake = resolve;
          if (gone.aborted) resolve();
        });
      const watch = watches.join(payer, stream);
      const leave = () => {
        watch.streams.delete(stream);
        stream.wake();
      };
      gone.addEventListener("abort", leave, { once: true });
      return follow({ payer, lastId, watch, stream }, woken, gone);
    },
  };
}

/** In the format of server-sent events (HTML standard). */
function bytesOf(events: readonly Event[]): Uint8Array {
  const texts = events.map(
    (event) => `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(eventRow(event))}\n\n`,
  );
  return Buffer.from(texts.join(""));
}

// Live parts of pages: server-sent events with rendered HTML. After a restart the browser reconnects by itself.
import { pause } from "../../../core/clock.ts";
import type { EndpointSpec, GatewayRequest } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { inSlices } from "../../../core/slices.ts";
import { tally } from "../../../core/tally.ts";
import { unmaskedCsrf } from "../../oauth/sessions.ts";
import { type Html, html, textOf } from "../html.ts";
import { unlessRefused } from "./ask.ts";
import type { Door, Visit } from "./sections.ts";
import { problem } from "./shown.ts";

const EVERY_MS = 2_000;
/** Per session: forgotten tabs must not add up. */
const OPEN_MAX = 10;

export interface Live {
  readonly path: string;
  readonly door: Door;
  readonly draining: () => boolean;
  /** The polling interval; two seconds by default. */
  readonly everyMs?: number;
  readonly part: (visit: Visit) => Promise<Html>;
}

function eventOf(text: string): string {
  return `data: ${text.replaceAll("\r", "").replaceAll("\n", "\ndata: ")}\n\n`;
}

/** One poll: an event where the part has changed, a comment where it has not; null: the session has ended. */
async function look({ door, part }: Live, request: GatewayRequest, before: string) {
  try {
    const who = await door.enter(request);
    if (who === null) return null;
    const shown = unlessRefused(part({ ...who, request, fields: {} }), ({ message }) => html`${problem(message)}`);
    const now = await inSlices(textOf(await shown));
    return { now, sent: now === before ? ": still so\n\n" : eventOf(now) };
  } catch (error) {
    // The page stays open until a store that is down comes back.
    if (!(error instanceof GatewayError)) throw error;
    return { now: before, sent: ": the ledger cannot be read at the moment\n\n" };
  }
}

async function* looks(live: Live, request: GatewayRequest, gone: AbortSignal): AsyncGenerator<Uint8Array> {
  let shown = "";
  while (!gone.aborted && !live.draining()) {
    const one = await look(live, request, shown);
    if (one === null) {
      yield Buffer.from("event: over\ndata: over\n\n");
      return;
    }
    shown = one.now;
    yield Buffer.from(one.sent);
    await pause(live.everyMs ?? EVERY_MS, gone);
  }
}

export function liveEndpoint(live: Live): EndpointSpec {
  const open = new Map<string, number>();

  async function* counted(of: string, parts: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
    tally(open, of, 1);
    try {
      yield* parts;
    } finally {
      tally(open, of, -1);
    }
  }

  return {
    method: "GET",
    path: live.path,
    auth: "none",
    cookies: true,
    bodyBytesMax: 0,
    async stream({ request, gone }) {
      const who = await live.door.enter(request);
      if (who === null) throw new GatewayError("invalid_token", { detail: "No one has signed in." });
      const session = unmaskedCsrf(who.csrf);
      if ((open.get(session) ?? 0) >= OPEN_MAX) {
        throw new GatewayError("concurrency_limit", { detail: { limit: OPEN_MAX }, retryAfterSeconds: 5 });
      }
      const headers = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };
      return { status: 200, headers, bytes: counted(session, looks(live, request, gone)) };
    },
  };
}

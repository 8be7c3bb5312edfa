// One response of a session, from its request to the vendor's count.
import { isRecord, type Json } from "../../core/json.ts";
import { usdNumber } from "../../core/money.ts";
import type { Ended } from "../../core/plan.ts";
import type { Counts } from "../../core/route.ts";
import { type Added, addedBy } from "./context.ts";
import type { MeteredCall } from "./metered-call.ts";

/** Sound of an answer counts 20 tokens a second; here per base64 character of 16 bits at 24 kHz. */
const SOUND_TOKENS_PER_CHAR = (20 * 0.75) / 48_000;
const TEXT_CHARS_PER_TOKEN = 4;

export interface Response {
  /** The id that our `response.create` carries. */
  readonly eventId: string;
  /** The client's own id for it; null: none. */
  readonly clientEventId: string | null;
  /** The turn ended, and the client wants an answer to each turn: it did not ask for this one. */
  readonly isOfTurn: boolean;
  /** It reads and extends the conversation. */
  readonly reads: boolean;
  readonly extends: boolean;
  /** It has its own instructions or tools instead of the session's. */
  readonly replacesPrompt: boolean;
  /** The size of the conversation at its request. */
  readonly context: Added;
  /** What it alone reads. */
  readonly more: Added;
  /** As the client asked, for what it sees. */
  readonly shownMax: unknown;
  readonly call: MeteredCall;
  /** Once the vendor has begun. */
  id: string | null;
  /** Characters of its deltas so far. */
  soundChars: number;
  textChars: number;
}

/** What a request for a response adds for it alone. */
export function moreOf(asked: Json, bytesPerSecond: number): Added {
  const { input, ...rest } = asked;
  const items = Array.isArray(input) ? input : [];
  return addedBy(items, Buffer.byteLength(JSON.stringify({ ...rest, input: items })), bytesPerSecond);
}

/** What has been delivered, where the vendor never says. */
export function deliveredCounts({ soundChars, textChars }: Response): Counts {
  return {
    audioOut: Math.ceil(soundChars * SOUND_TOKENS_PER_CHAR),
    textOut: Math.ceil(textChars / TEXT_CHARS_PER_TOKEN),
  };
}

/** An event about a response, with the limit that the client asked for. */
export function shownResponse(event: Json, { shownMax }: Response): Json {
  return isRecord(event.response) ? { ...event, response: { ...event.response, max_output_tokens: shownMax } } : event;
}

/** Adds the charge to a response's usage, as in the other formats. */
export function withCost(event: Json, ended: Ended | null): Json {
  const { response } = event;
  if (!isRecord(response) || !isRecord(response.usage) || ended?.charge == null) return event;
  const cost = usdNumber(ended.charge.chargedNano);
  return { ...event, response: { ...response, usage: { ...response.usage, cost } } };
}

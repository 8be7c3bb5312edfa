// Events that repeat in every call but for their id, their time and at most one text: recognized by bytes, so that only new ones are parsed.
import { copies, type EventTemplate } from "./event-template.ts";

/** What stands before the id, the time, and the text or the end: as the vendor sent it once, and as we passed it on. */
export interface KnownEvent {
  readonly came: readonly string[];
  readonly sent: readonly string[];
  /** What follows the text, in both; null if the event has none. */
  readonly text: Pick<EventTemplate, "tail" | "outTail"> | null;
}

const ID = '{"id":"';
const CREATED = '"created":';
const SENT_BEGINS = "data: ".length;
/** Other ids and numbers, such as those with escapes or more digits than a number keeps, are left to the parser. */
const PLAIN_ID = /[\w.:-]+(?=")/y;
const PLAIN_NUMBER = /[1-9]\d{0,14}(?!\d)/y;

/** The end of what `pattern` finds in `text` at `from`; -1 if it finds nothing. */
function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/** Latin-1 maps each byte to one character and back. */
function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

/** A slice would keep the whole event in memory. */
function own(slice: string): string {
  return bytesOf(slice).toString("latin1");
}

function cut(event: string, begin: number, until: number): readonly string[] | null {
  const idFrom = begin + ID.length;
  const idTo = event.startsWith(ID, begin) ? endOf(PLAIN_ID, event, idFrom) : -1;
  const found = idTo < 0 ? -1 : event.indexOf(CREATED, idTo);
  const created = found + CREATED.length;
  const createdTo = found < 0 ? -1 : endOf(PLAIN_NUMBER, event, created);
  if (createdTo < 0 || createdTo > until) return null;
  return [event.slice(0, idFrom), event.slice(idTo, created), event.slice(createdTo, until)].map(own);
}

/** Learns an event that has no text, or the text of this template; null if others could not be recognized by it. */
export function learnEvent(cameBytes: Buffer, sentBytes: Buffer, text: EventTemplate | null): KnownEvent | null {
  if (text !== null && text.outMiddle !== null) return null;
  const event = cameBytes.toString("latin1");
  const came = cut(event, 0, text?.head.length ?? event.length);
  const sent = cut(sentBytes.toString("latin1"), SENT_BEGINS, text?.outHead.length ?? sentBytes.length);
  if (came === null || sent === null) return null;
  const known = { came, sent, text: text && { tail: text.tail, outTail: text.outTail } };
  const idFrom = SENT_BEGINS + ID.length;
  const id = sentBytes.toString("latin1", idFrom, sentBytes.indexOf('"', idFrom));
  const again = recognized(known, event, id);
  const isSame = again !== null && (text?.outHead ?? sentBytes).equals("outHead" in again ? again.outHead : again);
  return isSame ? known : null;
}

/** What to send for a known event under another id: the event itself, or a template that its text may match. Null for other events. */
export function recognized({ came, sent, text }: KnownEvent, event: string, id: string): Buffer | EventTemplate | null {
  const [toId = "", toCreated = "", toText = ""] = came;
  const idTo = event.startsWith(toId) ? endOf(PLAIN_ID, event, toId.length) : -1;
  if (idTo < 0 || !event.startsWith(toCreated, idTo)) return null;
  const created = idTo + toCreated.length;
  const createdTo = endOf(PLAIN_NUMBER, event, created);
  if (createdTo < 0 || !event.startsWith(toText, createdTo)) return null;
  const textFrom = createdTo + toText.length;
  if (text === null && textFrom < event.length) return null;
  const [outId = "", outCreated = "", outText = ""] = sent;
  const out = bytesOf(`${outId}${id}${outCreated}${event.slice(created, createdTo)}${outText}`);
  if (text === null) return out;
  const [head, outHead] = copies(bytesOf(event.slice(0, textFrom)), out) as [Buffer, Buffer];
  return { ...text, head, outHead, outMiddle: null };
}

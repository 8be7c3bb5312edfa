// Events that repeat in every call but for their id, their time and at most one text: recognized by bytes, so that only new ones are parsed.
import { copies, type EventTemplate, stringEnd } from "./event-template.ts";

/** The bytes around the id, the time and the text, as the vendor sent them once and as we passed them on. */
export interface KnownEvent {
  readonly came: readonly Buffer[];
  readonly sent: readonly Buffer[];
}

const ID = Buffer.from('{"id":"');
const CREATED = Buffer.from('"created":');
const SENT_BEGINS = "data: ".length;
/** More digits could be rounded when an event is parsed. */
const DIGITS_MAX = 15;
const [ZERO, NINE] = [48, 57];

/** The end of the number at `from`; `from` if JSON would write it in another way. */
function numberEnd(bytes: Buffer, from: number): number {
  let at = from;
  for (let byte = bytes[at] ?? 0; byte >= ZERO && byte <= NINE; at++) byte = bytes[at + 1] ?? 0;
  return bytes[from] === ZERO || at - from > DIGITS_MAX ? from : at;
}

/** The bytes around the gaps of an event, whose text stands behind `head` and before `tail`; null if it lacks an id or a time there. */
function cut(event: Buffer, begin: number, head?: Buffer, tail?: Buffer): Buffer[] | null {
  const idFrom = begin + ID.length;
  const idTo = stringEnd(event, idFrom);
  const created = event.indexOf(CREATED, Math.max(idTo, 0)) + CREATED.length;
  const createdTo = numberEnd(event, created);
  if (idTo < 0 || createdTo === created || !event.subarray(begin, idFrom).equals(ID)) return null;
  const pieces = [event.subarray(0, idFrom), event.subarray(idTo, created)];
  if (head === undefined || tail === undefined) return copies(...pieces, event.subarray(createdTo));
  return head.length < createdTo ? null : copies(...pieces, event.subarray(createdTo, head.length), tail);
}

/** Learns an event that has no text, or the text of this template; null if others could not be recognized by it. */
export function learnEvent(came: Buffer, sent: Buffer, text: EventTemplate | null): KnownEvent | null {
  if (text !== null && text.outMiddle !== null) return null;
  const ofCame = cut(came, 0, text?.head, text?.tail);
  const ofSent = cut(sent, SENT_BEGINS, text?.outHead, text?.outTail);
  if (ofCame === null || ofSent === null) return null;
  const known = { came: ofCame, sent: ofSent };
  const idFrom = SENT_BEGINS + ID.length;
  const again = recognized(known, came, sent.toString("utf8", idFrom, stringEnd(sent, idFrom)));
  const isSame = again !== null && (text?.outHead ?? sent).equals("outHead" in again ? again.outHead : again);
  return isSame ? known : null;
}

/** Where `piece` ends, if it stands at `at`; otherwise -1. */
function behind(piece: Buffer | undefined, bytes: Buffer, at: number): number {
  const end = at + (piece?.length ?? 0);
  if (piece === undefined || at < 0 || end > bytes.length) return -1;
  return bytes.compare(piece, 0, piece.length, at, end) === 0 ? end : -1;
}

/** What to send for a known event under another id: the event itself, or a template that its text may match. Null for any other event. */
export function recognized({ came, sent }: KnownEvent, event: Buffer, id: string): Buffer | EventTemplate | null {
  const [toId, toCreated, toText, tail] = came;
  const idFrom = behind(toId, event, 0);
  const created = idFrom < 0 ? -1 : behind(toCreated, event, stringEnd(event, idFrom));
  const createdTo = created < 0 ? -1 : numberEnd(event, created);
  const textFrom = createdTo === created ? -1 : behind(toText, event, createdTo);
  if (textFrom < 0 || (tail === undefined && textFrom < event.length)) return null;
  const [outId = event, outCreated = event, outText = event, outTail] = sent;
  const out = Buffer.concat([outId, Buffer.from(id), outCreated, event.subarray(created, createdTo), outText]);
  if (tail === undefined || outTail === undefined) return out;
  return { head: Buffer.from(event.subarray(0, textFrom)), tail, outHead: out, outMiddle: null, outTail };
}

// The fast path of OpenAI-shaped streams: nearly all events of one stream differ in one short text only.

/**
 * What surrounds the text that varies, as the vendor sends it. An event with this head and tail around a well-formed JSON string says
 * what the one said that it was learned from, but for its text. All of it is bytes: making strings of events costs several times what
 * comparing and copying them does.
 */
export interface EventShape {
  readonly head: Buffer;
  readonly tail: Buffer;
}

/** The same, as the vendor sends it and as we send it on: such an event bears content, and carries no usage, error or finish. */
export interface EventTemplate extends EventShape {
  readonly outHead: Buffer;
  /** Between the text and the text again, where it is sent on under two names; null: it is sent once. */
  readonly outMiddle: Buffer | null;
  readonly outTail: Buffer;
}

const TEXT_KEY = /"(?:content|reasoning|reasoning_content|arguments|text|thinking|partial_json)":\s*"/g;
const NOTHING: Buffer = Buffer.alloc(0);
const QUOTE = 34;
const BACKSLASH = 92;
const LETTER_U = 117;
const SPACE = 32;
const ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));

/** Where the JSON string that begins at `from` ends, or -1 where it is not well formed. No byte of a longer UTF-8 character is a mark. */
function stringEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at;
    if (byte < SPACE) return -1;
    if (byte === BACKSLASH) {
      at++;
      if (!isEscape(bytes, at)) return -1;
    }
  }
  return -1;
}

function isEscape(bytes: Buffer, at: number): boolean {
  const letter = bytes[at];
  if (letter === LETTER_U) return /^[0-9a-fA-F]{4}$/.test(bytes.toString("latin1", at + 1, at + 5));
  return letter !== undefined && ESCAPES.has(letter);
}

interface Place {
  readonly from: number;
  readonly to: number;
}

/** The places in an event whose values vary; none where one of them is not well formed. */
function places(event: Buffer): readonly Place[] {
  // A character of Latin-1 for each byte, so that places in the one are places in the other.
  const found = [...event.toString("latin1").matchAll(TEXT_KEY)].map((match) => match.index + match[0].length);
  const all = found.map((from) => ({ from, to: stringEnd(event, from) }));
  return all.some(({ to }) => to < 0) ? [] : all;
}

/** Copies in memory of their own, since they are kept for the rest of a stream: in Node's pool each would keep 8 KiB from being freed. */
function copies(...pieces: Buffer[]): Buffer[] {
  const block = Buffer.allocUnsafeSlow(pieces.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  return pieces.map((piece) => {
    const from = at;
    at += piece.copy(block, from);
    return block.subarray(from, at);
  });
}

/** Learns what surrounds the text of an event; null where it has no single one. It does not keep the event. */
export function learnShape(came: Buffer): EventShape | null {
  const [only, second] = places(came);
  if (only === undefined || second !== undefined) return null;
  const [head = NOTHING, tail = NOTHING] = copies(came.subarray(0, only.from), came.subarray(only.to));
  return { head, tail };
}

/** The text of an event that has the shape. */
export function textWithin({ head, tail }: EventShape, bytes: Buffer, start: number, end: number): string {
  return JSON.parse(bytes.toString("utf8", start + head.length - 1, end - tail.length + 1)) as string;
}

/** Learns the template of an event from its data as it came and as it is sent; null where it has no single text. It keeps neither. */
export function learnTemplate(came: Buffer, sent: Buffer): EventTemplate | null {
  const [inCame, second] = places(came);
  if (inCame === undefined || second !== undefined) return null;
  const text = came.subarray(inCame.from, inCame.to);
  const inSent = places(sent);
  const [first, again = first] = inSent;
  if (first === undefined || again === undefined || inSent.length > 2) return null;
  if (inSent.some(({ from, to }) => !sent.subarray(from, to).equals(text))) return null;
  const [head = NOTHING, tail = NOTHING, outHead = NOTHING, outTail = NOTHING, middle = NOTHING] = copies(
    came.subarray(0, inCame.from),
    came.subarray(inCame.to),
    sent.subarray(0, first.from),
    sent.subarray(again.to),
    sent.subarray(first.to, again.from),
  );
  return { head, tail, outHead, outMiddle: inSent.length === 2 ? middle : null, outTail };
}

/** Whether the event from `start` to `end` has the shape, around a well-formed, non-empty JSON string. */
export function matchesTemplate({ head, tail }: EventShape, bytes: Buffer, start: number, end: number): boolean {
  const from = start + head.length;
  const to = end - tail.length;
  return (
    to > from &&
    bytes.compare(head, 0, head.length, start, from) === 0 &&
    bytes.compare(tail, 0, tail.length, to, end) === 0 &&
    stringEnd(bytes, from) === to
  );
}

/** The event that is sent on for the text from `from` to `to`. */
export function filledTemplate(
  { outHead, outMiddle, outTail }: EventTemplate,
  bytes: Buffer,
  from: number,
  to: number,
): Buffer {
  const length = outHead.length + to - from + outTail.length;
  const event = Buffer.allocUnsafe(outMiddle === null ? length : length + outMiddle.length + to - from);
  event.set(outHead, 0);
  let at = outHead.length + bytes.copy(event, outHead.length, from, to);
  if (outMiddle !== null) {
    event.set(outMiddle, at);
    at += outMiddle.length;
    at += bytes.copy(event, at, from, to);
  }
  event.set(outTail, at);
  return event;
}

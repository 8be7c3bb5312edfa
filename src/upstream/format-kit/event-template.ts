// The fast path of OpenAI-shaped streams: nearly all events of a stream differ only in one short text.

/**
 * The bytes around the text that varies, as the vendor sends them. An event with this head and tail around a well-formed JSON string means
 * the same as the event the shape was learned from, except for its text. Works on bytes, because decoding events into strings costs
 * several times as much as comparing and copying them.
 */
export interface EventShape {
  readonly head: Buffer;
  readonly tail: Buffer;
}

/** A shape with the bytes that we send in its place. Such an event has content, and no usage, error or finish. */
export interface EventTemplate extends EventShape {
  readonly outHead: Buffer;
  /** Separates two copies of the text, where we send it under two names; null if we send it once. */
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

/** The end of the JSON string that starts at `from`; -1 if it is malformed. No byte of a multibyte UTF-8 character equals a delimiter. */
export function stringEnd(bytes: Buffer, from: number): number {
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

/** The positions of the varying values in an event; none if a value is malformed. */
function places(event: Buffer): readonly Place[] {
  // Latin-1 maps each byte to one character, so string positions equal byte positions.
  const text = event.toString("latin1");
  const found: Place[] = [];
  for (TEXT_KEY.lastIndex = 0; TEXT_KEY.test(text); ) {
    const from = TEXT_KEY.lastIndex;
    found.push({ from, to: stringEnd(event, from) });
  }
  return found.some(({ to }) => to < 0) ? [] : found;
}

/** Copies outside Node's buffer pool: they live as long as the stream, and each pooled copy would pin 8 KiB. */
export function copies(...pieces: Buffer[]): Buffer[] {
  const block = Buffer.allocUnsafeSlow(pieces.reduce((bytes, { length }) => bytes + length, 0));
  let at = 0;
  return pieces.map((piece) => {
    const from = at;
    at += piece.copy(block, from);
    return block.subarray(from, at);
  });
}

/** Learns the bytes around an event's text; null unless the event has exactly one. Keeps no reference to the event. */
export function learnShape(came: Buffer): EventShape | null {
  const [only, second] = places(came);
  if (only === undefined || second !== undefined) return null;
  const [head = NOTHING, tail = NOTHING] = copies(came.subarray(0, only.from), came.subarray(only.to));
  return { head, tail };
}

export function textWithin({ head, tail }: EventShape, bytes: Buffer, start: number, end: number): string {
  return JSON.parse(bytes.toString("utf8", start + head.length - 1, end - tail.length + 1)) as string;
}

/** Learns a template from an event as received and as sent; null unless it has exactly one text. Keeps no reference to either. */
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

/** Whether `bytes[start, end)` is an event of this shape with a well-formed, non-empty JSON string. */
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

/** Builds the event to send for the text in `bytes[from, to)`. */
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

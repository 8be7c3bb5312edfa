// The fast path of OpenAI-shaped streams: nearly all events of one stream differ in one short text only.

/**
 * What surrounds the text that varies, as the vendor sends it and as we send it on. An event with this head and tail
 * around a well-formed JSON string is known to be valid, to bear content, and to carry no usage, error or finish.
 */
export interface EventTemplate {
  readonly head: string;
  readonly tail: string;
  readonly outHead: string;
  /** Between the text and the text again, where it is sent on under two names; null: it is sent once. */
  readonly outMiddle: string | null;
  readonly outTail: string;
}

const TEXT_KEY = /"(?:content|reasoning|reasoning_content|arguments|text|thinking|partial_json)":\s*"/g;
const QUOTE = 34;
const BACKSLASH = 92;

/** Where the JSON string that begins at `from` ends, or -1 where it is not well formed. Text is Latin-1 of UTF-8. */
function stringEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code < 32) return -1;
    if (code === BACKSLASH) {
      at++;
      if (!isEscape(text, at)) return -1;
    }
  }
  return -1;
}

function isEscape(text: string, at: number): boolean {
  const letter = text[at];
  if (letter === "u") return /^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5));
  return letter !== undefined && '"\\/bfnrt'.includes(letter);
}

interface Place {
  readonly from: number;
  readonly to: number;
}

/** The places in `text` whose values vary; none where one of them is not well formed. */
function places(text: string): readonly Place[] {
  const found = [...text.matchAll(TEXT_KEY)].map((match) => match.index + match[0].length);
  const all = found.map((from) => ({ from, to: stringEnd(text, from) }));
  return all.some(({ to }) => to < 0) ? [] : all;
}

/** Learns the template of an event from its data as it came and as it is sent; null where it has no single text. */
export function learnTemplate(came: string, sent: string): EventTemplate | null {
  const [inCame, second] = places(came);
  if (inCame === undefined || second !== undefined) return null;
  const text = came.slice(inCame.from, inCame.to);
  const inSent = places(sent);
  const [first, again = first] = inSent;
  if (first === undefined || again === undefined || inSent.length > 2) return null;
  if (inSent.some(({ from, to }) => sent.slice(from, to) !== text)) return null;
  return {
    head: came.slice(0, inCame.from),
    tail: came.slice(inCame.to),
    outHead: sent.slice(0, first.from),
    outMiddle: inSent.length === 2 ? sent.slice(first.to, again.from) : null,
    outTail: sent.slice(again.to),
  };
}

/** Whether the event is the template around a well-formed, non-empty JSON string. */
export function matchesTemplate(template: EventTemplate, text: string): boolean {
  const { head, tail } = template;
  const to = text.length - tail.length;
  return to > head.length && text.startsWith(head) && text.endsWith(tail) && stringEnd(text, head.length) === to;
}

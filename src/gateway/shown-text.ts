// What a model that judges is shown of a request or an answer: every text in it and every name of a member, but for encoded files.

/** A shorter text is no file; a longer one is looked at in parts of so many characters, so that a file hides no words. */
const PART_CHARS = 1_000;
/** Of words without blanks one character in about 6 stands between two of them; of encoded files one in 32 or fewer. */
const BETWEEN_WORDS = "-_=";
/** They may do so too, but a sound that has not been packed has as many: its high bits are all set or none. */
const BITS = "+/";
const SEPARATORS_PART_MAX = 1 / 12;
/** Of an encoded file more than half are capitals and digits; of words hardly any, or all. */
const CAPITALS_PART_MIN = 1 / 4;
const SMALL_PART_MIN = 1 / 16;

/** Sorts of the characters that files are encoded with; 0: none of them. */
const [SMALL, CAPITAL, BETWEEN, BIT] = [1, 2, 3, 4] as const;
const SORTS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (BETWEEN_WORDS.includes(character)) return BETWEEN;
  if (BITS.includes(character)) return BIT;
  if (/[A-Z0-9]/.test(character)) return CAPITAL;
  return /[a-z]/.test(character) ? SMALL : 0;
});

/** Whether a part of a text is one of an encoded file; null: there is a character in it that no file is encoded with. */
function isOfFile(text: string, from: number, to: number): boolean | null {
  const counts = new Uint16Array(5);
  let lastBit = -2;
  let bitsInRuns = 0;
  let isRun = false;
  for (let at = from; at < to; at++) {
    const sort = SORTS[text.charCodeAt(at)] ?? 0;
    if (sort === 0) return null;
    counts[sort] = (counts[sort] ?? 0) + 1;
    if (sort !== BIT) continue;
    if (at !== lastBit + 1) isRun = false;
    else {
      bitsInRuns += isRun ? 1 : 2;
      isRun = true;
    }
    lastBit = at;
  }
  const [small = 0, capitals = 0, between = 0] = counts.subarray(SMALL);
  // Silence is many of them side by side.
  const bits = (counts[BIT] ?? 0) - bitsInRuns;
  const many = (to - from) * SEPARATORS_PART_MAX;
  const areBits = bits <= many || small >= (to - from) * SMALL_PART_MIN;
  return areBits && between <= many && capitals >= (to - from) * CAPITALS_PART_MIN;
}

/** The parts of a text that may be words; null: it is no encoded file at all. */
function wordsIn(text: string, first: number): readonly string[] | null {
  const runs: string[] = [];
  let begins: number | null = null;
  for (let at = first; at < text.length; at += PART_CHARS) {
    const to = Math.min(text.length, at + PART_CHARS);
    // The last part has as many characters as the others, so that its few do not decide.
    const from = Math.max(first, to - PART_CHARS);
    const isFile = isOfFile(text, from, to);
    if (isFile === null) return null;
    if (!isFile) begins ??= from;
    else if (begins !== null) {
      runs.push(text.slice(begins, at));
      begins = null;
    }
  }
  return begins === null ? runs : [...runs, text.slice(begins)];
}

function shownOf(text: string): readonly string[] {
  if (text.length < PART_CHARS) return [text];
  const head = /^data:[\w./+-]{1,100};base64,/.exec(text)?.[0] ?? "";
  const words = wordsIn(text, head.length);
  return words === null ? [text] : [head, ...words];
}

/** All that a model could read as words in a body: its texts in their order, then the names of its members, each once. */
export function shownText(body: unknown): string {
  const texts: string[] = [];
  const names = new Set<string>();
  const open: unknown[] = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") {
      for (const text of shownOf(value)) texts.push(text);
    } else if (typeof value === "object" && value !== null) {
      if (!Array.isArray(value)) for (const name of Object.keys(value)) names.add(name);
      for (const inner of Object.values(value).reverse()) open.push(inner);
    }
  }
  return [...texts, ...names].join("\n");
}

// What a moderation model sees of a request or an answer: all its texts and member names, without encoded files.

/** Shorter texts are never files; longer ones are examined in parts of this length, so that a file cannot hide words. */
const PART_CHARS = 1_000;
/** In words without spaces about 1 character in 6 separates two words; in encoded files at most 1 in 32. */
const BETWEEN_WORDS = "-_=";
/** These may separate words too, but uncompressed audio has as many of them: its high bits are all set or all clear. */
const BITS = "+/";
const SEPARATORS_PART_MAX = 1 / 12;
/** More than half of an encoded file is capitals and digits; of words hardly any, or all. */
const CAPITALS_PART_MIN = 1 / 4;
const SMALL_PART_MIN = 1 / 16;

/** Classes of the characters that encodings use; 0: none of them. */
const [SMALL, CAPITAL, BETWEEN, BIT] = [1, 2, 3, 4] as const;
const SORTS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (BETWEEN_WORDS.includes(character)) return BETWEEN;
  if (BITS.includes(character)) return BIT;
  if (/[A-Z0-9]/.test(character)) return CAPITAL;
  return /[a-z]/.test(character) ? SMALL : 0;
});

/** Whether a part of a text belongs to an encoded file; null: it has a character that no encoding uses. */
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
  // Silence is a run of them.
  const bits = (counts[BIT] ?? 0) - bitsInRuns;
  const many = (to - from) * SEPARATORS_PART_MAX;
  const areBits = bits <= many || small >= (to - from) * SMALL_PART_MIN;
  return areBits && between <= many && capitals >= (to - from) * CAPITALS_PART_MIN;
}

/** The parts of a text that may be words; null: it is not an encoded file. */
function wordsIn(text: string, first: number): readonly string[] | null {
  const runs: string[] = [];
  let begins: number | null = null;
  for (let at = first; at < text.length; at += PART_CHARS) {
    const to = Math.min(text.length, at + PART_CHARS);
    // The last part overlaps the previous one to have the full length, so that a few characters do not decide.
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

/** All that a model could read as words in a body: its texts in order, then its member names, each once. */
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

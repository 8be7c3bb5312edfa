// How many pages a PDF has, by its own tree of pages: read once from its beginning to its end, in turns, whatever its author has written.
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { inflate } from "node:zlib";

const inflated = promisify(inflate);

/** So many bytes are read before others have their turn on the event loop. */
const TURN_BYTES = 131_072;
/** Dictionaries that are looked for are short; a longer one is passed over. */
const DICTIONARY_BYTES_MAX = 65_536;
/** Streams that have objects in them, and what one and all of them may have in them, in bytes. */
const STREAMS_MAX = 2_000;
const STREAM_BYTES_MAX = 4_194_304;
const ALL_STREAMS_BYTES_MAX = 16_777_216;
/** A document of a few pages has far less: what has more is not read, so that no author can have much of our time. */
const OBJECTS_MAX = 100_000;
/** Each object has two words with `obj` in them: its own and `endobj`. What makes nothing of them costs about as much as reading these bytes. */
const WORDS_MAX = 2 * OBJECTS_MAX;
const WORD_BYTES = 64;
const ALL_DICTIONARIES_BYTES_MAX = 2_097_152;
/** The number of an object and its generation stand before the word `obj`. */
const NUMBER_BYTES_MAX = 32;

/** The value of a key: a name or a number; `isReference`: of the object of that number. Anything else is none of them. */
interface Value {
  name?: string;
  number?: number;
  isReference?: true;
}
type Dictionary = ReadonlyMap<string, Value>;

const [TAB, LF, CR, SPACE, PERCENT, OPEN, CLOSE] = [9, 10, 13, 32, 37, 40, 41];
const [SLASH, LESS, MORE, ARRAY, ARRAY_END, BACKSLASH] = [47, 60, 62, 91, 93, 92];
const isBlank = (byte: number | undefined) =>
  byte === SPACE || byte === LF || byte === CR || byte === TAB || byte === 0 || byte === 12;
const ENDS_WORD = new Set([TAB, LF, CR, SPACE, 0, 12, PERCENT, OPEN, CLOSE, SLASH, LESS, MORE, ARRAY, ARRAY_END]);

function afterBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (isBlank(bytes[at])) at += 1;
  return at;
}

function afterWord(bytes: Buffer, from: number, endsAt: number): number {
  let at = from;
  while (at < endsAt && !ENDS_WORD.has(bytes[at] ?? SPACE)) at += 1;
  return at;
}

/** A string may have parentheses in it, in pairs or behind a backslash. */
function afterString(bytes: Buffer, from: number, endsAt: number): number {
  let open = 0;
  for (let at = from; at < endsAt; at++) {
    const byte = bytes[at];
    if (byte === BACKSLASH) at += 1;
    else if (byte === OPEN) open += 1;
    else if (byte === CLOSE && --open === 0) return at + 1;
  }
  return endsAt;
}

/** Behind the next byte of this value. */
function after(bytes: Buffer, byte: number, from: number, endsAt: number): number {
  const at = bytes.indexOf(byte, from);
  return at < 0 || at >= endsAt ? endsAt : at + 1;
}

/** The keys of one dictionary, taken in word by word; those of dictionaries inside of it are not its own. */
class Keys {
  readonly dictionary = new Map<string, Value>();
  /** Dictionaries and arrays that are open. */
  open = 0;
  #key = "";
  #value: Value | null = {};

  opened(): void {
    if (this.open === 1) this.#has({});
    this.open += 1;
  }

  word(word: string): void {
    const number = /^\d{1,9}$/.test(word) ? Number(word) : null;
    if (this.open === 1 && word === "R" && this.#value?.number !== undefined) this.#value.isReference = true;
    else if (this.open === 1 && this.#value === null) this.#has(number === null ? {} : { number });
  }

  name(name: string): void {
    // Of an array, the last: a stream may be written in several ways, one on top of the other.
    if (this.open === 2 && this.#key === "Filter" && this.#value !== null) this.#value.name = name;
    if (this.open !== 1) return;
    if (this.#value === null) return this.#has({ name });
    this.#key = name;
    this.#value = null;
  }

  #has(value: Value): void {
    if (this.#value !== null) return;
    this.#value = value;
    this.dictionary.set(this.#key, value);
  }
}

/** The dictionary that begins there, and where it ends; null: it has no end, or is too long. */
function dictionaryAt(bytes: Buffer, from: number): { readonly dictionary: Dictionary | null; readonly end: number } {
  const endsAt = Math.min(bytes.length, from + DICTIONARY_BYTES_MAX);
  const keys = new Keys();
  for (let at = from; at < endsAt; ) {
    const byte = bytes[at];
    const isDouble = bytes[at + 1] === byte;
    if ((byte === LESS && isDouble) || byte === ARRAY) {
      keys.opened();
      at += byte === LESS ? 2 : 1;
    } else if ((byte === MORE && isDouble) || byte === ARRAY_END) {
      keys.open -= 1;
      at += byte === MORE ? 2 : 1;
      if (keys.open <= 0) return { dictionary: keys.dictionary, end: at };
    } else if (byte === OPEN) at = afterString(bytes, at, endsAt);
    else if (byte === LESS) at = after(bytes, MORE, at, endsAt);
    else if (byte === PERCENT) at = after(bytes, LF, at, endsAt);
    else if (isBlank(byte) || byte === MORE || byte === CLOSE) at += 1;
    else {
      const isName = byte === SLASH;
      const end = afterWord(bytes, at + 1, endsAt);
      const word = bytes.toString("latin1", isName ? at + 1 : at, end);
      if (isName) keys.name(word);
      else keys.word(word);
      at = end;
    }
  }
  return { dictionary: null, end: endsAt };
}

/** The number of the object whose word `obj` stands there; null: it is another word. */
function numberBefore(bytes: Buffer, at: number): number | null {
  const before = bytes.toString("latin1", Math.max(0, at - NUMBER_BYTES_MAX), at);
  const number = /(?:^|\D)(\d{1,9})\s{1,8}\d{1,5}\s{1,8}$/.exec(before)?.[1];
  return number === undefined ? null : Number(number);
}

/** What is known of the document's tree so far. Of an object that was written again the last is the one that counts. */
class Tree {
  readonly #counts = new Map<number, number | null>();
  #root: number | null = null;

  take(number: number, dictionary: Dictionary): void {
    const type = dictionary.get("Type")?.name;
    const value = dictionary.get(type === "Catalog" ? "Pages" : "Count");
    if (type === "Catalog") this.#root = value?.isReference === true ? (value.number ?? null) : null;
    if (type === "Pages") this.#counts.set(number, value?.isReference === true ? null : (value?.number ?? null));
  }

  get count(): number | null {
    const count = this.#root === null ? null : (this.#counts.get(this.#root) ?? null);
    return count !== null && count > 0 ? count : null;
  }
}

/** One document, read once. */
class Reading {
  readonly #tree = new Tree();
  readonly #signal: AbortSignal;
  #isGivenUp = false;
  #objects = 0;
  #words = 0;
  #dictionaryBytes = 0;
  #streams = 0;
  #streamBytes = 0;
  #sinceTurn = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async count(bytes: Buffer): Promise<number | null> {
    let next = 0;
    for (let at = bytes.indexOf("obj"); at >= 0 && !this.#isGivenUp; at = bytes.indexOf("obj", next)) {
      next = at + 3;
      this.#words += 1;
      if (this.#words > WORDS_MAX) this.#isGivenUp = true;
      // Most are `endobj`, before which nothing needs to be read.
      const number = isBlank(bytes[at - 1]) ? numberBefore(bytes, at) : null;
      if (number !== null) next = await this.#object(bytes, number, afterBlanks(bytes, next));
      await this.#turn(WORD_BYTES + next - at);
    }
    return this.#isGivenUp ? null : this.#tree.count;
  }

  /** Returns where to read on. */
  async #object(bytes: Buffer, number: number, begins: number): Promise<number> {
    const { dictionary, end } = this.#dictionary(bytes, number, begins);
    const word = afterBlanks(bytes, end);
    if (dictionary === null || bytes.toString("latin1", word, word + 6) !== "stream") return end;
    const first = word + 6 + (bytes[word + 6] === CR ? 2 : 1);
    const last = streamEnd(bytes, dictionary, first);
    if (dictionary.get("Type")?.name === "ObjStm") await this.#stream(bytes.subarray(first, last), dictionary);
    return last;
  }

  /** The object that begins there, where it is a dictionary. */
  #dictionary(bytes: Buffer, number: number, begins: number) {
    this.#objects += 1;
    if (this.#objects > OBJECTS_MAX) this.#isGivenUp = true;
    if (bytes[begins] !== LESS || bytes[begins + 1] !== LESS) return { dictionary: null, end: begins };
    const found = dictionaryAt(bytes, begins);
    this.#dictionaryBytes += found.end - begins;
    if (this.#dictionaryBytes > ALL_DICTIONARIES_BYTES_MAX) this.#isGivenUp = true;
    if (found.dictionary !== null) this.#tree.take(number, found.dictionary);
    return found;
  }

  /** The objects that are written in a stream. */
  async #stream(packed: Buffer, dictionary: Dictionary): Promise<void> {
    const bytes = await this.#unpacked(packed, dictionary.get("Filter"));
    const first = dictionary.get("First")?.number ?? 0;
    if (bytes === null || first > DICTIONARY_BYTES_MAX) {
      this.#isGivenUp = true;
      return;
    }
    const numbers = bytes.toString("latin1", 0, first).trim().split(/\s+/).map(Number);
    let read = first;
    for (let at = 0; at + 1 < numbers.length && !this.#isGivenUp; at += 2) {
      const begins = afterBlanks(bytes, Math.max(read, first + (numbers[at + 1] ?? 0)));
      // Objects stand one behind the other; what points back is not read again.
      read = this.#dictionary(bytes, numbers[at] ?? 0, begins).end;
      await this.#turn(read - begins);
    }
  }

  /** Null: it is too much, or cannot be unpacked. */
  async #unpacked(packed: Buffer, filter: Value | undefined): Promise<Buffer | null> {
    this.#streams += 1;
    if (this.#streams > STREAMS_MAX || (filter !== undefined && filter.name !== "FlateDecode")) return null;
    const bytes =
      filter === undefined ? packed : await inflated(packed, { maxOutputLength: STREAM_BYTES_MAX }).catch(() => null);
    this.#streamBytes += bytes?.length ?? 0;
    return this.#streamBytes > ALL_STREAMS_BYTES_MAX ? null : bytes;
  }

  async #turn(bytes: number): Promise<void> {
    this.#sinceTurn += bytes;
    if (this.#sinceTurn < TURN_BYTES) return;
    this.#sinceTurn = 0;
    await setImmediate();
    this.#signal.throwIfAborted();
  }
}

/** Where a stream ends: as its dictionary says, or at the word that says so. */
function streamEnd(bytes: Buffer, dictionary: Dictionary, begins: number): number {
  const length = dictionary.get("Length");
  const end = begins + (length?.number ?? 0);
  if (length?.number !== undefined && length.isReference !== true && end <= bytes.length) return end;
  const word = bytes.indexOf("endstream", begins);
  return word < 0 ? bytes.length : word;
}

/**
 * How many pages it says that it has; null: it does not say so in a way that can be read here (it is encrypted, broken, or no PDF), or is
 * too much to be read. Rejects once the signal is aborted.
 */
export function pagesOfPdf(bytes: Buffer, signal: AbortSignal): Promise<number | null> {
  return new Reading(signal).count(bytes);
}

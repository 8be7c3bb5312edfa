// Repairs near-JSON in one pass. Models write it, and a stranger may steer them, so each character is read a bounded number of times. The
// result need not be JSON yet: the caller parses it.

const CLOSERS: ReadonlyMap<string, string> = new Map([
  ["{", "}"],
  ["[", "]"],
]);
const QUOTES = `"'`;
/** The characters that end a word, besides whitespace. */
const MARKS = `{}[]:,"'`;
/** Python's words that JSON spells differently. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);
const FENCE = "```";

function isBlank(char: string): boolean {
  return char !== "" && char <= " ";
}

function afterBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text.charAt(at))) at++;
  return at;
}

class Mending {
  readonly #text: string;
  #at: number;
  #made = "";
  /** A pending comma with the whitespace after it, written only if a value follows before the bracket closes. */
  #comma = "";
  /** The closers of the open brackets. */
  readonly #open: string[] = [];

  constructor(text: string, from: number) {
    this.#text = text;
    this.#at = from;
  }

  /** Reads from the first bracket to its closer; null if it is not one value, or another follows. */
  whole(): string | null {
    while (this.#at < this.#text.length && !this.#text.startsWith(FENCE, this.#at)) {
      if (!this.#step(this.#text.charAt(this.#at))) return null;
      if (this.#open.length === 0) return /[{}[\]]/.test(this.#text.slice(this.#at)) ? null : this.#made;
    }
    return this.#made + this.#open.reverse().join("");
  }

  /** Returns false if the text cannot be read on from here. */
  #step(char: string): boolean {
    if (char === "}" || char === "]") return this.#close(char);
    if (isBlank(char)) return this.#blanks();
    this.#made += this.#comma;
    this.#comma = "";
    if (QUOTES.includes(char)) return this.#string(char);
    if (!MARKS.includes(char)) return this.#word();
    this.#at++;
    if (char === ",") this.#comma = char;
    else this.#made += char;
    const closer = CLOSERS.get(char);
    if (closer !== undefined) this.#open.push(closer);
    return true;
  }

  #blanks(): true {
    const end = afterBlanks(this.#text, this.#at);
    const blanks = this.#text.slice(this.#at, end);
    if (this.#comma === "") this.#made += blanks;
    else this.#comma += blanks;
    this.#at = end;
    return true;
  }

  /** Also closes what was left open inside. */
  #close(char: string): boolean {
    this.#at++;
    this.#made += this.#comma.slice(1);
    this.#comma = "";
    for (let closer = this.#open.pop(); closer !== undefined; closer = this.#open.pop()) {
      this.#made += closer;
      if (closer === char) return true;
    }
    return false;
  }

  /** Reads a string in either kind of quotes, and escapes it for JSON; an unterminated one was cut off. */
  #string(quote: string): boolean {
    this.#made += '"';
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const char = this.#text.charAt(at);
      if (char === quote) {
        this.#made += '"';
        this.#at = at + 1;
        return true;
      }
      if (char === "\\") {
        at++;
        const escaped = this.#text.charAt(at);
        this.#made += escaped === "'" ? escaped : `\\${escaped}`;
      } else this.#made += char === '"' || char < " " ? JSON.stringify(char).slice(1, -1) : char;
    }
    return false;
  }

  /** Reads a name if a colon follows, otherwise a number or a literal. */
  #word(): true {
    let end = this.#at;
    while (end < this.#text.length && !MARKS.includes(this.#text.charAt(end)) && !isBlank(this.#text.charAt(end)))
      end++;
    const word = this.#text.slice(this.#at, end);
    const isName = this.#text.charAt(afterBlanks(this.#text, end)) === ":";
    this.#made += isName ? JSON.stringify(word) : (WORDS.get(word) ?? word);
    this.#at = end;
    return true;
  }
}

/**
 * Rewrites the one object or list in a text as JSON: drops the words or code fence around it and commas before a closing bracket, puts
 * names and single-quoted strings in double quotes, escapes line breaks in strings, translates Python's True, False and None, and adds
 * missing closing brackets. Null if there is none, or more than one, or if it ends within a string.
 */
export function nearlyJson(text: string): string | null {
  const from = text.search(/[{[]/);
  return from < 0 ? null : new Mending(text, from).whole();
}

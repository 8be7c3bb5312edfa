// What is nearly JSON, written again as JSON: one pass over its characters, each looked at a bounded number of times, since a model that a
// stranger has led writes it. What it makes need not be JSON yet: its caller parses it.

const CLOSERS: ReadonlyMap<string, string> = new Map([
  ["{", "}"],
  ["[", "]"],
]);
const QUOTES = `"'`;
/** What a word ends at, beside blanks. */
const MARKS = `{}[]:,"'`;
/** Of Python's words those that JSON writes in another way. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);
const FENCE = "```";

function isBlank(char: string): boolean {
  return char !== "" && char <= " ";
}

/** Where the blanks from a place on end. */
function afterBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text.charAt(at))) at++;
  return at;
}

class Mending {
  readonly #text: string;
  #at: number;
  #made = "";
  /** A comma and the blanks behind it, which go on only where something follows before a bracket closes. */
  #comma = "";
  /** What closes the brackets that are open. */
  readonly #open: string[] = [];

  constructor(text: string, from: number) {
    this.#text = text;
    this.#at = from;
  }

  /** From the first bracket to the one that closes it; null: it cannot be read as one value, or a second one follows. */
  whole(): string | null {
    while (this.#at < this.#text.length && !this.#text.startsWith(FENCE, this.#at)) {
      if (!this.#step(this.#text.charAt(this.#at))) return null;
      if (this.#open.length === 0) return /[{}[\]]/.test(this.#text.slice(this.#at)) ? null : this.#made;
    }
    return this.#made + this.#open.reverse().join("");
  }

  /** False: no reading goes on from here. */
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

  /** Closes what was left open within it, too. */
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

  /** A string in either sort of quotes, with what JSON wants escaped; one that does not end is what was cut off. */
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

  /** A name where a colon follows, else a number or one of the few words that are values. */
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
 * The one object or list in a text, as JSON: without the words or the code fence around it and without commas before a closing bracket, with
 * names and single quotes in double ones, line breaks in strings escaped, Python's True, False and None as JSON has them, and the closing
 * brackets that are missing. Null: there is none, there is more than one, or it ends within a string.
 */
export function nearlyJson(text: string): string | null {
  const from = text.search(/[{[]/);
  return from < 0 ? null : new Mending(text, from).whole();
}

// Markdown as text: escaping, and line breaks between blocks.

/** Marks what must be escaped only at the beginning of a line. A noncharacter, which no text contains. */
const AT_BEGINNING = "\ufdd0";
const BEGINNING = /^([ >]*(?:[-*] |\d{1,9}\. )?)\ufdd0/gm;
const MARKS = /[\\*`[\]_]/g;
/** Has a meaning at the beginning of a line. */
const HEAD = /^(?:-|\+ |=+|#{1,6} |~~~|>)/;
const NUMBERED = /^(\d+)\. /;

export function escaped(text: string): string {
  return text.replace(MARKS, "\\$&").replace(HEAD, `${AT_BEGINNING}$&`).replace(NUMBERED, "$1\\. ");
}

/** Escapes the marked places that ended up at the beginning of a line. */
export function atBeginnings(text: string): string {
  return text.includes(AT_BEGINNING) ? text.replace(BEGINNING, "$1\\").replaceAll(AT_BEGINNING, "") : text;
}

/** Removes escapes that a table cell does not need, such as those before numbers, and escapes bars. */
export function inCell(text: string): string {
  return text
    .replaceAll(AT_BEGINNING, "")
    .replace(/^\\([-+#>])/, "$1")
    .replace(/^(\d{1,9})\\\./, "$1.")
    .replace(/\|/g, "\\|");
}

function withinBreaks(text: string): readonly [begin: number, end: number] {
  let [begin, end] = [0, text.length];
  while (begin < end && text[begin] === "\n") begin += 1;
  while (end > begin && text[end - 1] === "\n") end -= 1;
  return [begin, end];
}

export function withoutBreaks(text: string): string {
  return text.slice(...withinBreaks(text));
}

/** Joins parts: between two come as many line breaks as the more demanding one wants, two at most. */
export class Joined {
  readonly #parts: string[] = [];
  #breaks = 0;

  add(part: string): void {
    const [begin, end] = withinBreaks(part);
    const breaks = Math.min(2, Math.max(this.#breaks, begin));
    if (begin === end) {
      this.#breaks = breaks;
      return;
    }
    this.#parts.push("\n".repeat(breaks), part.slice(begin, end));
    this.#breaks = part.length - end;
  }

  text(): string {
    return this.#parts.join("") + "\n".repeat(this.#breaks);
  }
}

export function oneLine(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}

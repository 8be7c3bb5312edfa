// Markdown as text: what is escaped in it, and how blocks stand apart.

/** Stands before what is to be escaped at the beginning of a line alone; no character of any text. */
const AT_BEGINNING = "\ufdd0";
const BEGINNING = /^([ >]*(?:[-*] |\d{1,9}\. )?)\ufdd0/gm;
const MARKS = /[\\*`[\]_]/g;
/** What would mean something at the head of a line. */
const HEAD = /^(?:-|\+ |=+|#{1,6} |~~~|>)/;
const NUMBERED = /^(\d+)\. /;

/** A text that means nothing but itself. */
export function escaped(text: string): string {
  return text.replace(MARKS, "\\$&").replace(HEAD, `${AT_BEGINNING}$&`).replace(NUMBERED, "$1\\. ");
}

/** Escapes what stands at the beginning of a line in the end. */
export function atBeginnings(text: string): string {
  return text.includes(AT_BEGINNING) ? text.replace(BEGINNING, "$1\\").replaceAll(AT_BEGINNING, "") : text;
}

/** What means something at the head of a line alone means nothing in a cell: figures are left as they are. */
export function inCell(text: string): string {
  return text
    .replaceAll(AT_BEGINNING, "")
    .replace(/^\\([-+#>])/, "$1")
    .replace(/^(\d{1,9})\\\./, "$1.")
    .replace(/\|/g, "\\|");
}

/** Where a text begins and ends, but for line breaks. */
function withinBreaks(text: string): readonly [begin: number, end: number] {
  let [begin, end] = [0, text.length];
  while (begin < end && text[begin] === "\n") begin += 1;
  while (end > begin && text[end - 1] === "\n") end -= 1;
  return [begin, end];
}

export function withoutBreaks(text: string): string {
  return text.slice(...withinBreaks(text));
}

/** Parts put together: between two stand as many line breaks as the one that wants more of them, and two at most. */
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

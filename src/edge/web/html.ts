// HTML templates: inserted values are escaped as text, unless they are HTML objects.
import { atOnce, type Steps } from "../../core/slices.ts";

/** Text, or the lines of a list, rendered one by one. */
type Part = string | Iterable<Html>;

/** Text that is already HTML. */
export class Html {
  readonly parts: readonly Part[];

  constructor(...parts: readonly Part[]) {
    this.parts = parts;
  }

  /** The whole text, rendered at once. */
  get text(): string {
    const [first = "", ...more] = this.parts;
    return typeof first === "string" && more.length === 0 ? first : atOnce(textOf(this));
  }
}

/** Renders the text, one list line per step. */
export function* textOf({ parts }: Html): Steps<string> {
  const texts: string[] = [];
  for (const part of parts) {
    if (typeof part === "string") {
      texts.push(part);
      continue;
    }
    for (const line of part) {
      texts.push(line.text);
      yield;
    }
  }
  return texts.join("");
}

export type Put = Html | string | number | readonly (Html | string)[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ESCAPES[mark] ?? mark);
}

function partsOf(put: Put): readonly Part[] {
  if (put instanceof Html) return put.parts;
  return typeof put === "object" ? put.flatMap(partsOf) : [escaped(String(put))];
}

/** `html\`<b>${name}</b>\``. */
export function html(texts: TemplateStringsArray, ...puts: readonly Put[]): Html {
  const parts: Part[] = [];
  let last = texts[0] ?? "";
  for (const [at, put] of puts.entries()) {
    for (const part of partsOf(put)) {
      if (typeof part === "string") last += part;
      else {
        parts.push(last, part);
        last = "";
      }
    }
    last += texts[at + 1] ?? "";
  }
  return new Html(...parts, last);
}

// HTML by template: what is put in is text and is escaped, unless it is HTML itself.

/** Text that is HTML already. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
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

function asHtml(put: Put): string {
  if (put instanceof Html) return put.text;
  return typeof put === "object" ? put.map(asHtml).join("") : escaped(String(put));
}

/** `html\`<b>${name}</b>\``. */
export function html(parts: TemplateStringsArray, ...puts: readonly Put[]): Html {
  return new Html(parts.reduce((whole, part, at) => whole + asHtml(puts[at - 1] ?? "") + part));
}

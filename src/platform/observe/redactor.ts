// Redacts stored texts by the operator's rules: JSON fields by name, email addresses, card numbers and keys.
import { isRecord } from "../../core/json.ts";

/** Matches candidate runs of characters, and tells which of them to redact. */
interface Rule {
  readonly runs: RegExp;
  is(run: string): boolean;
}

/** A letter after a backslash is an escape, such as a line break, in JSON inside a text, and not part of what follows it. */
const RULES: Readonly<Record<string, Rule>> = {
  emails: {
    runs: /[^\s"<>(),;:\\]+/g,
    is(run) {
      const at = run.indexOf("@");
      return at > 0 && run.indexOf(".", at + 2) > 0;
    },
  },
  cards: { runs: /(?:\b|(?<=\\[bfnrt]))\d(?:[ -]?\d){12,18}\b/g, is: () => true },
  keys: {
    runs: /(?:(?<![A-Za-z0-9_-])|(?<=\\[bfnrt]))(?:sk|pk|rk|tg_sk|ghp|gho|github_pat|xox[abp])[-_][A-Za-z0-9_-]{17,}/g,
    is: () => true,
  },
};
const FIELD = "field:";
const REDACTED = "[redacted]";

function without(text: string, { runs, is }: Rule): string {
  return text.replace(runs, (run) => (is(run) ? REDACTED : run));
}

/** Creates a function that redacts a JSON text; it returns null if the text cannot be parsed, because its content is then unknown. */
export function createRedactor(names: readonly string[]): (text: string) => string | null {
  const fields = new Set(names.filter((name) => name.startsWith(FIELD)).map((name) => name.slice(FIELD.length)));
  const rules = names.map((name) => RULES[name]).filter((rule) => rule !== undefined);
  const redacted = (text: string) => rules.reduce(without, text);

  /** A JSON reviver: inner values come first. Works on the decoded text, because in encoded JSON line breaks would look like letters. */
  function seen(name: string, value: unknown): unknown {
    if (fields.has(name)) return REDACTED;
    if (typeof value === "string") return redacted(value);
    // A fraction can have as many digits as a card number without being one.
    if (Number.isInteger(value)) return redacted(String(value)) === String(value) ? value : REDACTED;
    if (!isRecord(value)) return value;
    const members = Object.entries(value);
    const renamed = members.map(([member, inner]) => [redacted(member), inner] as const);
    return renamed.some(([member], at) => member !== members[at]?.[0]) ? Object.fromEntries(renamed) : value;
  }

  if (names.length === 0) return (text) => text;
  return (text) => {
    try {
      return JSON.stringify(JSON.parse(text, seen));
    } catch {
      return null;
    }
  };
}

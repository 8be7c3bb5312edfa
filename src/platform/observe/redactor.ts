// Takes out of texts that are kept what the operator's rules name: members of JSON by name, and addresses, numbers of cards and keys.
import { isRecord } from "../../core/json.ts";

/** Runs of what an address, a card's number or a key is made of, and whether one is that. */
interface Rule {
  readonly runs: RegExp;
  is(run: string): boolean;
}

/** A letter behind a backslash is a line break or the like in JSON that stands within a text, and is no part of what follows it. */
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

/** Makes a JSON text one without what the rules name; null: it cannot be read, so that it is not known what stands in it. */
export function createRedactor(names: readonly string[]): (text: string) => string | null {
  const fields = new Set(names.filter((name) => name.startsWith(FIELD)).map((name) => name.slice(FIELD.length)));
  const rules = names.map((name) => RULES[name]).filter((rule) => rule !== undefined);
  const redacted = (text: string) => rules.reduce(without, text);

  /** What is within it has been seen before. A text is seen as it is meant: as JSON its line breaks would be letters. */
  function seen(name: string, value: unknown): unknown {
    if (fields.has(name)) return REDACTED;
    if (typeof value === "string") return redacted(value);
    // A fraction has as many digits as a card, and is none.
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

// Takes out of texts that are kept what the operator's rules name: members of JSON by name, and addresses, numbers of cards and keys.

/** Runs of what an address, a card's number or a key is made of, and whether one is that. */
interface Rule {
  readonly runs: RegExp;
  is(run: string): boolean;
}

const RULES: Readonly<Record<string, Rule>> = {
  emails: {
    runs: /[^\s"<>(),;:\\]+/g,
    is(run) {
      const at = run.indexOf("@");
      return at > 0 && run.indexOf(".", at + 2) > 0;
    },
  },
  cards: { runs: /\b\d(?:[ -]?\d){12,18}\b/g, is: () => true },
  keys: { runs: /[A-Za-z0-9_-]{20,}/g, is: (run) => /^(?:sk|pk|rk|tg_sk|ghp|gho|github_pat|xox[abp])[-_]/.test(run) },
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
  if (names.length === 0) return (text) => text;
  return (text) => {
    try {
      // Written anew, so that nothing is hidden by the way in which it is escaped.
      const json: unknown = JSON.parse(text, (name, value: unknown) => (fields.has(name) ? REDACTED : value));
      return rules.reduce(without, JSON.stringify(json));
    } catch {
      return null;
    }
  };
}

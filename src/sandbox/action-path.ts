// Matches a request's path against an adapter's template, and extracts the values of its placeholders.

/** The decoded value of each placeholder: `{name}` and `{name...}` by name, `{/pointer}` by pointer. */
export type Captures = ReadonlyMap<string, string>;

interface Template {
  readonly pattern: RegExp;
  readonly places: readonly string[];
}

/** Cached templates of adapters and their tables; addresses from answers have no placeholders and are compared literally. */
const compiled = new Map<string, Template>();

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

function templateOf(template: string): Template {
  const known = compiled.get(template);
  if (known !== undefined) return known;
  const names = [...template.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => name);
  const fixed = template.split(/\{[^{}]+\}/).map(escaped);
  const source = fixed.reduce((sum, text, at) => `${sum}${names[at - 1]?.endsWith("...") ? "(.+)" : "([^/]+)"}${text}`);
  const made = { pattern: new RegExp(`^${source}$`, "s"), places: names.map((name) => name.replace(/\.\.\.$/, "")) };
  compiled.set(template, made);
  return made;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function capture(template: string, text: string, decode: (text: string) => string): [string, string][] | null {
  if (!template.includes("{")) return template === text ? [] : null;
  const { pattern, places } = templateOf(template);
  const match = pattern.exec(text);
  return match === null ? null : places.map((place, at) => [place, decode(match[at + 1] ?? "")]);
}

/** Null if the path, or a query parameter in the template, does not match. Additional query parameters are ignored. */
export function matchTarget(template: string, path: string, query: URLSearchParams): Captures | null {
  const [pathTemplate = "", queryTemplate = ""] = template.split(/\?(.*)/s);
  const found = capture(pathTemplate, path, decoded);
  if (found === null) return null;
  for (const [name, valueTemplate] of new URLSearchParams(queryTemplate)) {
    // A slash is allowed in a query value.
    const wide = valueTemplate.replace(/\{([^{}.]+)\}/g, "{$1...}");
    const matches = query.getAll(name).map((value) => capture(wide, value, String));
    const match = matches.find((one) => one !== null);
    if (match === undefined || match === null) return null;
    found.push(...match);
  }
  return new Map(found);
}

// What a robots.txt says to us (RFC 9309): read once over its bytes, in a thread of its own, and asked of each address in bounded time.

/** More rules for us, or longer ones, were made to stop their reader: then nothing is allowed. */
const RULES_MAX = 2_000;
const PATTERN_CHARS_MAX = 1_024;
/** Characters of patterns with a star, times those of an address, that are compared on the event loop: about a millisecond. */
const STEPS_MAX = 1_000_000;
/** What a pattern takes beside its characters, as if it were some more of them. */
const PATTERN_STEPS = 8;
/** No page that is read has a longer address; a redirect may. */
const ADDRESS_CHARS_MAX = 8_192;

export interface RobotRule {
  readonly allow: boolean;
  readonly pattern: string;
}

/** The rules that are for us, or that nothing is allowed. */
export type Robots = { readonly rules: readonly RobotRule[] } | "nothing";

/** Both sides of a comparison in one spelling: percent-encoded as addresses are, with large hexadecimal digits. */
function spelled(text: string): string {
  let encoded: string;
  try {
    encoded = encodeURI(text).replaceAll("%25", "%");
  } catch {
    // Half a character of two is no address.
    return text;
  }
  return encoded.replace(/%[0-9a-f]{2}/gi, (code) => code.toUpperCase());
}

/** One group of a file: for whom its rules are. */
class Groups {
  readonly #name: string;
  /** For us by name, and for everybody. */
  readonly #own: RobotRule[] = [];
  readonly #all: RobotRule[] = [];
  #isOwn = false;
  #isAll = false;
  #named = false;
  #hasOwn = false;
  tooMany = false;

  constructor(name: string) {
    this.#name = name.toLowerCase();
  }

  agent(value: string): void {
    // Lines of agents that follow each other share the rules behind them.
    if (!this.#named) {
      this.#isOwn = false;
      this.#isAll = false;
    }
    this.#named = true;
    const token = value.split(/[\s/]/, 1)[0]?.toLowerCase() ?? "";
    this.#isOwn ||= token === this.#name;
    this.#isAll ||= token === "*";
    this.#hasOwn ||= token === this.#name;
  }

  rule(allow: boolean, value: string): void {
    this.#named = false;
    if (value === "" || (!this.#isOwn && !this.#isAll)) return;
    if (value.length > PATTERN_CHARS_MAX || this.#own.length + this.#all.length >= RULES_MAX) this.tooMany = true;
    if (this.tooMany) return;
    const rule = { allow, pattern: spelled(value) };
    if (this.#isOwn) this.#own.push(rule);
    if (this.#isAll) this.#all.push(rule);
  }

  get rules(): readonly RobotRule[] {
    return this.#hasOwn ? this.#own : this.#all;
  }
}

/** Reads a file. Takes as long as it has bytes, whatever is in them. */
export function readRobots(text: string, name: string): Robots {
  const groups = new Groups(name);
  for (let at = 0; at < text.length && !groups.tooMany; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    // A line is a name, a colon and a value; what follows a number sign is a remark.
    const hash = text.slice(at, end).indexOf("#");
    const line = text.slice(at, hash < 0 ? end : at + hash);
    at = end + 1;
    for (const part of line.split("\r")) {
      const colon = part.indexOf(":");
      if (colon < 0) continue;
      const key = part.slice(0, colon).trim().toLowerCase();
      const value = part.slice(colon + 1).trim();
      if (key === "user-agent") groups.agent(value);
      else if (key === "allow" || key === "disallow") groups.rule(key === "allow", value);
    }
  }
  return groups.tooMany ? "nothing" : { rules: groups.rules };
}

/** Where a pattern's first part ends, which an address has to begin with. */
function firstEnd(pattern: string): number {
  const star = pattern.indexOf("*");
  if (star >= 0) return star;
  return pattern.endsWith("$") ? pattern.length - 1 : pattern.length;
}

/** Whether a path that begins with a pattern's first part goes on as it says, where `*` stands for anything and a last `$` for the end. Looks at each part once. */
function fits(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith("$");
  const [first = "", ...others] = (isWhole ? pattern.slice(0, -1) : pattern).split("*");
  let at = first.length;
  const last = others.pop();
  for (const part of others) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  if (last === undefined) return !isWhole || path.length === at;
  if (!isWhole) return path.indexOf(last, at) >= 0;
  return path.length - last.length >= at && path.endsWith(last);
}

/** Asks rules of addresses: the longest that fits decides, and of two as long the one that allows (RFC 9309, 2.2.2). */
export function robotsAsker(robots: Robots): (url: string) => boolean {
  if (robots === "nothing") return () => false;
  const { rules } = robots;
  const byLength = rules.toSorted((a, b) => b.pattern.length - a.pattern.length || Number(b.allow) - Number(a.allow));
  return (address) => {
    const url = address.length > ADDRESS_CHARS_MAX ? null : URL.parse(address);
    if (url === null) return false;
    const path = spelled(`${url.pathname}${url.search}`);
    let steps = 0;
    for (const { allow, pattern } of byLength) {
      const first = firstEnd(pattern);
      // Nearly all rules end here: what an address does not begin with is not looked for in it.
      if (first > path.length || !path.startsWith(pattern.slice(0, first))) continue;
      if (pattern.includes("*", first)) steps += (pattern.length + PATTERN_STEPS) * path.length;
      if (steps > STEPS_MAX) return false;
      if (fits(pattern, path)) return allow;
    }
    return true;
  };
}

// Parses robots.txt (RFC 9309) in linear time, in a worker thread, and checks addresses against it in bounded time.

/** A file with more or longer rules is an attack on its reader: it then allows nothing. */
const RULES_MAX = 2_000;
const PATTERN_CHARS_MAX = 1_024;
/** The budget of a check on the event loop: pattern characters times address characters, for patterns with a star; about a millisecond. */
const STEPS_MAX = 1_000_000;
/** The overhead of a pattern, in characters. */
const PATTERN_STEPS = 8;
/** Longer than the address of any page that is read; a redirect may exceed it. */
const ADDRESS_CHARS_MAX = 8_192;

export interface RobotRule {
  readonly allow: boolean;
  readonly pattern: string;
}

/** The rules that apply to us; `nothing`: nothing is allowed. */
export type Robots = { readonly rules: readonly RobotRule[] } | "nothing";

/** One spelling for comparison: percent-encoded, with upper-case hexadecimal digits. */
function spelled(text: string): string {
  let encoded: string;
  try {
    encoded = encodeURI(text).replaceAll("%25", "%");
  } catch {
    // Half a surrogate pair has no encoding.
    return text;
  }
  return encoded.replace(/%[0-9a-f]{2}/gi, (code) => code.toUpperCase());
}

class Groups {
  readonly #name: string;
  /** Rules for our name, and rules for all agents. */
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
    // Consecutive user-agent lines share the rules that follow.
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

/** Parses a file, in time linear in its size. */
export function readRobots(text: string, name: string): Robots {
  const groups = new Groups(name);
  for (let at = 0; at < text.length && !groups.tooMany; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline;
    // A line is a name, a colon and a value; a number sign starts a comment.
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

/** The end of a pattern's literal prefix, with which an address must begin. */
function firstEnd(pattern: string): number {
  const star = pattern.indexOf("*");
  if (star >= 0) return star;
  return pattern.endsWith("$") ? pattern.length - 1 : pattern.length;
}

/** Whether a path with the pattern's prefix matches the rest, where `*` matches anything and a final `$` the end. Linear. */
export function fits(pattern: string, path: string): boolean {
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

/** Returns a check of addresses: the longest matching rule decides, and among equals the one that allows (RFC 9309, 2.2.2). */
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
      // Nearly all rules end here, at a prefix comparison.
      if (first > path.length || !path.startsWith(pattern.slice(0, first))) continue;
      if (pattern.includes("*", first)) steps += (pattern.length + PATTERN_STEPS) * path.length;
      if (steps > STEPS_MAX) return false;
      if (fits(pattern, path)) return allow;
    }
    return true;
  };
}

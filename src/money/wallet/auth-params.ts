// Parses the challenges of a WWW-Authenticate header (RFC 9110, 11.6.1) in one pass. A merchant writes it: maybe malformed.

export interface AuthChallenge {
  /** In lower case. */
  readonly scheme: string;
  readonly params: ReadonlyMap<string, string>;
}

const SPACE = /[ \t,]/;
const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]/;

/** Returns null where the header is malformed or repeats a parameter. */
export function readChallenges(text: string): readonly AuthChallenge[] | null {
  const found: { readonly scheme: string; readonly params: Map<string, string> }[] = [];
  let at = 0;
  const skip = () => {
    while (at < text.length && SPACE.test(text.charAt(at))) at++;
  };
  const token = () => {
    const from = at;
    while (at < text.length && TOKEN.test(text.charAt(at))) at++;
    return text.slice(from, at);
  };
  for (skip(); at < text.length; skip()) {
    const name = token().toLowerCase();
    if (name === "") return null;
    if (text.charAt(at) !== "=") {
      found.push({ scheme: name, params: new Map() });
      continue;
    }
    at++;
    const value = text.charAt(at) === '"' ? quoted() : token();
    const params = found.at(-1)?.params;
    if (value === null || params === undefined || params.has(name)) return null;
    params.set(name, value);
  }
  return found;

  function quoted(): string | null {
    let value = "";
    for (at++; at < text.length; at++) {
      const one = text.charAt(at);
      if (one === '"') {
        at++;
        return value;
      }
      if (one === "\\") at++;
      value += text.charAt(at);
    }
    return null;
  }
}

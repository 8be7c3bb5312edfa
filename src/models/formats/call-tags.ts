// Tags of a call for reports: pairs from the `x-tollgate-tags` header, and from `user` and `metadata` of a body.
import type { GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";

const HEADER = "x-tollgate-tags";
export const TAGS_MAX = 10;
const NAME = /^[^\s=,][^=,]{0,39}$/u;
const VALUE_CHARACTERS_MAX = 100;
/** Characters that break a line or are invisible. */
const CONTROL = /\p{C}/u;
const NONE: readonly string[] = [];

export interface NamedBy {
  readonly user?: unknown;
  readonly metadata?: unknown;
}

function isName(name: string): boolean {
  return NAME.test(name) && !CONTROL.test(name);
}

function isValue(value: string): boolean {
  return value !== "" && value.length <= VALUE_CHARACTERS_MAX && value.isWellFormed() && !CONTROL.test(value);
}

/** Only our clients use the header, so a malformed one is an error. */
function inHeader(text: string): (readonly [string, string])[] {
  const pairs = text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1).trim()] as const;
  });
  if (pairs.length <= TAGS_MAX && pairs.every(([name, value]) => isName(name) && isValue(value))) return pairs;
  const detail = `${HEADER}: at most ${TAGS_MAX} pairs such as team=red, separated by commas; names of at most 40 characters, values of 100`;
  throw new GatewayError("bad_request", { param: HEADER, detail });
}

/** Clients also use these fields for other purposes, so pairs that are too long are dropped. */
function inBody({ user, metadata }: NamedBy): (readonly [string, unknown])[] {
  const pairs = typeof metadata === "object" && metadata !== null ? Object.entries(metadata) : [];
  return user == null ? pairs : [["user", user], ...pairs];
}

/** Up to ten, as `name=value`. The first value of a name wins: the header's, then `user`, then `metadata`. */
export function callTags(request: GatewayRequest, body: NamedBy = {}): readonly string[] {
  const header = request.headers.get(HEADER);
  if (header === undefined && body.user == null && body.metadata == null) return NONE;
  const fromHeader = header === undefined ? [] : inHeader(header);
  const tags = new Map<string, string>();
  for (const [name, given] of [...fromHeader, ...inBody(body)]) {
    const value = typeof given === "number" || typeof given === "boolean" ? String(given) : given;
    if (tags.size === TAGS_MAX || tags.has(name) || typeof value !== "string") continue;
    if (isName(name) && isValue(value)) tags.set(name, `${name}=${value}`);
  }
  return [...tags.values()];
}

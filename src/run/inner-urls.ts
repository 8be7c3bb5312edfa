// Addresses that a vendor is asked to open: one that can only lead inside a network is refused before anybody is asked, for the
// vendor may be a server of the operator's own, and what it reached would be the operator's.
import { isIP } from "node:net";
import type { TableEndpoint } from "../catalog/endpoint-table.ts";
import type { Params } from "../catalog/said.ts";
import { type FieldIssue, INNER_URL_WORDS } from "../field-issues.ts";
import { isPublicAddress } from "../upstream/public-address.ts";
import { isInnerName, NOT_PUBLIC, readPublicUrl } from "../upstream/public-url.ts";

/** Whether a text is an http address of a private, loopback or otherwise inner host, in whatever spelling. What is behind a name is not asked. */
export function leadsInside(text: string): boolean {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return isIP(host) === 0 ? isInnerName(host) : !isPublicAddress(host);
}

/** The first of these params that leads inside; null: none does. `names` are those that hold addresses, or lists of them. */
export function innerUrl(names: readonly string[], params: Params): FieldIssue | null {
  for (const name of names) {
    const given = params[name];
    const isList = Array.isArray(given);
    for (const [at, one] of (isList ? given : [given]).entries()) {
      if (typeof one !== "string" || !leadsInside(one)) continue;
      return { path: isList ? `${name}.${at}` : name, message: INNER_URL_WORDS, code: "bad_url" };
    }
  }
  return null;
}

/** Whether a port may be used is known where the address is opened. */
const ANY_PORT = () => true;

/** The first of these params that one of our own functions is to open and that cannot be a public address; null: there is none. */
export function notPublic(names: readonly string[], given: Params): FieldIssue | null {
  for (const path of names) {
    const text = given[path];
    if (typeof text !== "string" || text === "") continue;
    const read = readPublicUrl(text, ANY_PORT);
    const message = typeof read === "string" ? read : leadsInside(text) ? NOT_PUBLIC : null;
    if (message !== null) return { path, message, code: "bad_url" };
  }
  return null;
}

/** The params of a row that hold addresses. */
export function urlParamsOfRow({ params }: TableEndpoint): readonly string[] {
  return Object.entries(params).flatMap(([name, { format }]) => (format === "uri" ? [name] : []));
}

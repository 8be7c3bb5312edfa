// Addresses that a vendor is asked to open: one that can only lead inside a network is refused before anybody is asked, for the
// vendor may be a server of the operator's own, and what it reached would be the operator's.
import { isIP } from "node:net";
import type { TableEndpoint } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import { type FieldIssue, INNER_URL_WORDS, URL_WORDS } from "../../core/field-issues.ts";
import { isPublicAddress } from "../../upstream/public-address.ts";
import { isInnerName } from "../../upstream/public-url.ts";

/** Whether a text is an http address of a private, loopback or otherwise inner host, in whatever spelling. What is behind a name is not asked. */
export function leadsInside(text: string): boolean {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return isIP(host) === 0 ? isInnerName(host) : !isPublicAddress(host);
}

function innerWords(text: string): string | null {
  return leadsInside(text) ? INNER_URL_WORDS : null;
}

/** What is wrong with an address that can be nothing else; null: nothing. */
export function addressWords(text: string): string | null {
  return /^https?:$/.test(URL.parse(text.trim())?.protocol ?? "") ? innerWords(text) : URL_WORDS;
}

/** The first of these params that is no address to open; null: all are. `names` are those that hold addresses, or lists of them. */
export function wrongUrl(names: readonly string[], params: Params, wordsFor = innerWords): FieldIssue | null {
  for (const name of names) {
    const given = params[name];
    const isList = Array.isArray(given);
    for (const [at, one] of (isList ? given : [given]).entries()) {
      const message = typeof one === "string" ? wordsFor(one) : null;
      if (message !== null) return { path: isList ? `${name}.${at}` : name, message, code: "bad_url" };
    }
  }
  return null;
}

/** The params of a row that hold addresses. */
export function urlParamsOfRow({ params }: TableEndpoint): readonly string[] {
  return Object.entries(params).flatMap(([name, { format }]) => (format === "uri" ? [name] : []));
}

// Addresses that a vendor is asked to open. We refuse an address that can only be on a private network before calling the vendor: the
// vendor may be one of the operator's own servers, and would then reach the operator's network.
import { isIP } from "node:net";
import type { TableEndpoint } from "../../catalog/endpoint-table.ts";
import type { Params } from "../../catalog/said.ts";
import { type FieldIssue, INNER_URL_WORDS, URL_WORDS } from "../../core/field-issues.ts";
import { isPublicAddress } from "../../upstream/public-address.ts";
import { isInnerName } from "../../upstream/public-url.ts";

/** Whether a text is an http(s) URL of a private, loopback or other internal host, in any spelling. Does not resolve names. */
export function leadsInside(text: string): boolean {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  return isIP(host) === 0 ? isInnerName(host) : !isPublicAddress(host);
}

function innerWords(text: string): string | null {
  return leadsInside(text) ? INNER_URL_WORDS : null;
}

/** What is wrong with a param that must be a URL; null where nothing is. */
export function addressWords(text: string): string | null {
  return /^https?:$/.test(URL.parse(text.trim())?.protocol ?? "") ? innerWords(text) : URL_WORDS;
}

/** The first of these params that is not a URL to open; null where all are. `names` lists params with a URL or a list of URLs. */
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

export function urlParamsOfRow({ params }: TableEndpoint): readonly string[] {
  return Object.entries(params).flatMap(([name, { format }]) => (format === "uri" ? [name] : []));
}

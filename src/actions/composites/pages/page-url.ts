// The addresses that page actions take: completes bare hosts, and rejects what is not a page.
import { isIP } from "node:net";
import type { PageLadderSpec } from "../../../catalog/page-ladder.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import { isPublicAddress } from "../../../upstream/public-addresses.ts";
import { NOT_PUBLIC, type PortRule, readPublicUrl } from "../../../upstream/public-url.ts";

/** Matches the scheme of `https://`, but not the port in `example.com:8080`. */
const SCHEME = /^[a-z][a-z0-9+.-]*:(?!\d)/i;

export interface UrlFault {
  readonly code: Extract<ErrorCode, "bad_url" | "onescrape_social" | "onescrape_document">;
  /** The end of a sentence that begins with the param's path. */
  readonly words: string;
}

/** Normalizes an address: absolute, host in lower-case ASCII, without fragment. */
export function readPageUrl(text: string, mayUsePort: PortRule = () => false): URL | UrlFault {
  const given = text.trim();
  const read = readPublicUrl(SCHEME.test(given) ? given : `https://${given}`, mayUsePort);
  if (typeof read === "string") return { code: "bad_url", words: read };
  // Names are resolved when they are fetched. Reject a literal private address here, so that no vendor is sent to it.
  if (isIP(read.host) !== 0 && !isPublicAddress(read.host)) return { code: "bad_url", words: NOT_PUBLIC };
  return read.url;
}

export function isBelow(hostname: string, domains: readonly string[]): boolean {
  return domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
}

/** Why an address is not read as a page; null where it is. */
export function notAPage(url: URL, ladder: PageLadderSpec): UrlFault | null {
  if (isBelow(url.hostname, ladder.socialDomains))
    return { code: "onescrape_social", words: `leads to ${url.hostname}, a social platform` };
  const path = url.pathname.toLowerCase();
  const ending = ladder.documentEndings.find((one) => path.endsWith(one));
  return ending === undefined ? null : { code: "onescrape_document", words: `is a document (${ending}) and no page` };
}

export function isDocument(contentType: string, { documentTypes }: PageLadderSpec): boolean {
  const type = contentType.toLowerCase().trimStart();
  return documentTypes.some((one) => type.startsWith(one));
}

/** The distinct pages in order of first mention; for addresses that have been checked. */
export function pagesOf(urls: readonly string[]): readonly string[] {
  const pages = urls.map((url) => readPageUrl(url, () => true)).filter((url) => url instanceof URL);
  return [...new Set(pages.map(({ href }) => href))];
}

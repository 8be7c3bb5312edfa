// The addresses of a call that reads pages: bare hosts completed, and what is no page told from what is one.
import { isIP } from "node:net";
import type { PageLadderSpec } from "../../../catalog/page-ladder.ts";
import type { ErrorCode } from "../../../core/errors.ts";
import { isPublicAddress } from "../../../upstream/public-address.ts";
import { NOT_PUBLIC, type PortRule, readPublicUrl } from "../../../upstream/public-url.ts";

/** `https://` of an address that has a scheme, `example.com:8080` of one that has none. */
const SCHEME = /^[a-z][a-z0-9+.-]*:(?!\d)/i;
const ANY_PORT = () => true;
const NO_PORTS = () => false;

export interface UrlFault {
  readonly code: Extract<ErrorCode, "bad_url" | "onescrape_social" | "onescrape_document">;
  /** The end of a sentence that begins with the address's place. */
  readonly words: string;
}

/** The address as it is read: absolute, its host in lower case and ASCII, without a fragment. */
export function readPageUrl(text: string, mayUsePort: PortRule = NO_PORTS): URL | UrlFault {
  const given = text.trim();
  const read = readPublicUrl(SCHEME.test(given) ? given : `https://${given}`, mayUsePort);
  if (typeof read === "string") return { code: "bad_url", words: read };
  // What is behind a name is asked when it is fetched; an address itself is told here, so that no vendor is sent to it.
  if (isIP(read.host) !== 0 && !isPublicAddress(read.host)) return { code: "bad_url", words: NOT_PUBLIC };
  return read.url;
}

/** Whether a host is one of these domains or below one. */
function isBelow(hostname: string, domains: readonly string[]): boolean {
  return domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
}

/** Why an address is not read as a page; null: it is. */
export function notAPage(url: URL, ladder: PageLadderSpec): UrlFault | null {
  if (isBelow(url.hostname, ladder.socialDomains)) {
    return { code: "onescrape_social", words: `leads to ${url.hostname}, a social platform` };
  }
  const path = url.pathname.toLowerCase();
  const ending = ladder.documentEndings.find((one) => path.endsWith(one));
  return ending === undefined ? null : { code: "onescrape_document", words: `is a document (${ending}) and no page` };
}

/** Whether what a server sends is a document, by its media type. */
export function isDocument(contentType: string, { documentTypes }: PageLadderSpec): boolean {
  const type = contentType.toLowerCase().trimStart();
  return documentTypes.some((one) => type.startsWith(one));
}

/** The pages that are meant, each once, in the order in which they were first named; for addresses that have been checked. */
export function pagesOf(urls: readonly string[]): readonly string[] {
  const pages = urls.map((url) => readPageUrl(url, ANY_PORT)).filter((url) => url instanceof URL);
  return [...new Set(pages.map(({ href }) => href))];
}

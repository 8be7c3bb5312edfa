// Outgoing safety, first check: whether a caller's text is a URL that may be fetched, before any DNS lookup.
import { isIP } from "node:net";

const CHARS_MAX = 2048;
/** URL parsers drop or convert these characters; no plain URL has them. */
const ODD = /[\p{Cc}\p{Zs}\\]/u;
const PLAIN_START = /^https?:\/\/[^/]/i;
/** Names that are valid only inside a network or machine (RFC 6761, RFC 6762, RFC 8375, and common practice). */
const INNER_NAME = /(^|\.)(localhost|local|internal|intranet|private|corp|home|lan|arpa|onion|alt|invalid|test)$/;

/** Whether a name is valid only inside a network or machine. */
export function isInnerName(host: string): boolean {
  return !host.includes(".") || host.endsWith(".") || INNER_NAME.test(host);
}

export interface PublicUrl {
  readonly url: URL;
  /** The name to resolve, or the bare IP address: no brackets, no trailing dot. */
  readonly host: string;
  readonly port: number;
}

/** Whether a non-default port is allowed; never in production. */
export type PortRule = (port: number) => boolean;

/** Parses a caller's URL; returns the fault as the end of a sentence that begins with the URL's name. */
export function readPublicUrl(text: string, mayUsePort: PortRule, mayBeInner = false): PublicUrl | string {
  if (text.length > CHARS_MAX) return `is longer than ${CHARS_MAX} characters`;
  if (ODD.test(text)) return "has blanks, control characters or backslashes in it";
  if (!PLAIN_START.test(text)) return "is not an http or https URL";
  const url = URL.parse(text);
  return url === null ? "is not a URL" : checkUrl(url, mayUsePort, mayBeInner);
}

/** Parses a redirect's target; `location` is relative to the requested URL. */
export function readLocation(location: string, asked: URL, mayUsePort: PortRule): PublicUrl | string {
  // Node decodes headers as Latin-1; servers that send other characters mean UTF-8.
  const url = URL.parse(Buffer.from(location, "latin1").toString("utf8"), asked.href);
  if (url === null) return "is not a URL";
  // A redirect must not expose an https URL's secrets in plain text.
  if (asked.protocol === "https:" && url.protocol !== "https:") return "leaves https";
  return checkUrl(url, mayUsePort);
}

/** The parser has normalized every spelling of an IPv4 address (octal, hexadecimal, short, full-width), and we connect to its result. */
function checkUrl(url: URL, mayUsePort: PortRule, mayBeInner = false): PublicUrl | string {
  if (url.href.length > CHARS_MAX) return `is longer than ${CHARS_MAX} characters`;
  if (url.protocol !== "http:" && url.protocol !== "https:") return "is not an http or https URL";
  if (url.username !== "" || url.password !== "") return "has a user name or a password in it";
  const port = Number(url.port);
  if (url.port !== "" && !mayUsePort(port)) return "has a port other than 80 for http and 443 for https";
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!mayBeInner && isIP(host) === 0 && isInnerName(host)) return NOT_PUBLIC;
  url.hash = "";
  return { url, host, port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : port };
}

/** The same message for unknown and internal names, so that callers cannot probe for internal ones. */
export const NOT_PUBLIC = "does not lead to a public address";

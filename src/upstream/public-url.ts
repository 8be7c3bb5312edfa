// Outgoing safety, the first question: whether what a caller sent is an address that may be fetched, before any name is asked for.
import { isIP } from "node:net";

const CHARS_MAX = 2048;
/** A parser drops or turns these; no plain address has them. */
const ODD = /[\p{Cc}\p{Zs}\\]/u;
const PLAIN_START = /^https?:\/\/[^/]/i;
/** Names that mean something only inside a network or a machine (RFC 6761, RFC 6762, RFC 8375, and what networks use). */
const INNER_NAME = /(^|\.)(localhost|local|internal|intranet|private|corp|home|lan|arpa|onion|alt|invalid|test)$/;

/** A name that means something only inside a network or a machine. */
export function isInnerName(host: string): boolean {
  return !host.includes(".") || host.endsWith(".") || INNER_NAME.test(host);
}

/** An address to fetch. */
export interface PublicUrl {
  readonly url: URL;
  /** The name as it is asked for, or the bare IP address: no brackets, no dot at the end. */
  readonly host: string;
  readonly port: number;
}

/** Whether a port other than the scheme's own may be used; in earnest none may. */
export type PortRule = (port: number) => boolean;

/** What a caller wrote as an address, or what is wrong with it, as the end of a sentence that begins with its name. */
export function readPublicUrl(text: string, mayUsePort: PortRule, mayBeInner = false): PublicUrl | string {
  if (text.length > CHARS_MAX) return `is longer than ${CHARS_MAX} characters`;
  if (ODD.test(text)) return "has blanks, control characters or backslashes in it";
  if (!PLAIN_START.test(text)) return "is not an http or https URL";
  const url = URL.parse(text);
  return url === null ? "is not a URL" : checkUrl(url, mayUsePort, mayBeInner);
}

/** The same for where a redirect leads: `location` is relative to the address that was asked. */
export function readLocation(location: string, asked: URL, mayUsePort: PortRule): PublicUrl | string {
  // Headers are read byte by byte; servers that write other letters in them mean UTF-8.
  const url = URL.parse(Buffer.from(location, "latin1").toString("utf8"), asked.href);
  if (url === null) return "is not a URL";
  // A client that is told a secret by an https address must not be made to say it in the clear.
  if (asked.protocol === "https:" && url.protocol !== "https:") return "leaves https";
  return checkUrl(url, mayUsePort);
}

/**
 * The parser has already turned every spelling of an IPv4 address (octal, hexadecimal, short, full-width digits) into the
 * plain one, and it is its result that is connected to.
 */
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

/** The same words whether a name is unknown or leads inside, so that no caller can ask us which inner names there are. */
export const NOT_PUBLIC = "does not lead to a public address";

// The operator's outgoing proxies, with curl's reading of HTTPS_PROXY, HTTP_PROXY and NO_PROXY.
import { BlockList, isIP } from "node:net";

export interface Destination {
  readonly secure: boolean;
  /** A name, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface Proxies {
  proxyFor(destination: Destination): URL | null;
}

export const NO_PROXIES: Proxies = { proxyFor: () => null };

/** Parses a proxy's address. Throws an error whose message follows the variable's name in a sentence. */
export function readProxyAddress(text: string): URL {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "")
    throw new Error("must be an http or https address, such as http://user:password@proxy.example:3128");
  try {
    decodeURIComponent(`${url.username}${url.password}`);
  } catch {
    throw new Error("has a user or password with a % that encodes nothing: write %25");
  }
  return url;
}

export type Exempts = (destination: Destination) => boolean;

/** Parses NO_PROXY: hosts, domains, addresses and ranges, each with an optional port. Throws as `readProxyAddress` does. */
export function readNoProxy(text: string): Exempts {
  const rules = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(readRule);
  return (destination) => rules.some((rule) => rule(destination));
}

function readRule(entry: string): Exempts {
  const isBareIpv6 = isIP(entry.split("/", 1)[0] ?? "") === 6;
  const [, inBrackets, name, port] = /^(?:\[(.+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(entry) ?? [];
  const matches = readHost(isBareIpv6 ? entry : (inBrackets ?? name ?? ""));
  if (matches === null)
    throw new Error(`has ${JSON.stringify(entry)} in it, which is no host, .domain, address, range or *`);
  return (to) => (port === undefined || Number(port) === to.port) && matches(to.host);
}

/** Null: neither a host nor a range. */
function readHost(text: string): ((host: string) => boolean) | null {
  if (text === "*") return () => true;
  const [address = "", prefix, ...more] = text.split("/");
  const bitsMax = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (bitsMax > 0) {
    const bits = prefix === undefined ? bitsMax : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
    if (!(bits <= bitsMax) || more.length > 0) return null;
    const range = new BlockList();
    range.addSubnet(address, bits, bitsMax === 32 ? "ipv4" : "ipv6");
    return (host) => isIP(host) !== 0 && range.check(host, isIP(host) === 4 ? "ipv4" : "ipv6");
  }
  const domain = plainName(text.replace(/^\*?\./, ""));
  if (!/^[\p{L}\p{N}_.-]+$/u.test(domain)) return null;
  return (host) => plainName(host) === domain || plainName(host).endsWith(`.${domain}`);
}

function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

/** Null: none. */
type Proxy = URL | null;

export function createProxies(https: Proxy, http: Proxy, exempts: Exempts | null): Proxies {
  if (https === null && http === null) return NO_PROXIES;
  return { proxyFor: (to) => (exempts?.(to) === true ? null : to.secure ? https : http) };
}

export function destinationOf({ protocol, hostname, port }: Pick<URL, "protocol" | "hostname" | "port">): Destination {
  const secure = protocol === "https:" || protocol === "wss:";
  return { secure, host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? (secure ? 443 : 80) : Number(port) };
}

/** A proxy's address without its password, for people to see. */
export function withoutPassword(address: string): string {
  return address.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/@]*(?:@[^/@]*)*@/i, "$1***@");
}
